// A worker without a model: what goes wrong in a child, on demand. TEST_CHILD names it; TEST_FIFO
// is a FIFO that the child and its descendants hold open for as long as they live.

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <new>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/types/json.h"
#include "autobatch/types/protocol.h"

namespace autobatch {
namespace {

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

int report_fd = -1;
FILE* requests = nullptr;

void WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written <= 0) _exit(9);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void Say(const Reply& reply) { WriteAll(report_fd, ToJson(reply) + "\n"); }

std::string ReadLine() {
  std::string line;
  for (int c = fgetc(requests); c != EOF && c != '\n'; c = fgetc(requests)) {
    line += static_cast<char>(c);
  }
  return line;
}

[[noreturn]] void Hang() {
  while (true) pause();
}

void HoldFifo() {
  const std::string path = Variable("TEST_FIFO");
  if (path.empty()) return;
  const int fd = open(path.c_str(), O_WRONLY);
  WriteAll(fd, absl::StrCat(getpid(), "\n"));
}

// A grandchild in a session of its own, deaf to SIGTERM, whose parent is gone.
void Daemonise() {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  signal(SIGTERM, SIG_IGN);
  HoldFifo();
  Hang();
}

void Flood() {
  const std::string line = std::string(1023, 'x') + "\n";
  std::string block;
  for (int i = 0; i < 1024; ++i) block += line;
  for (int i = 0; i < 256; ++i) {
    WriteAll(1, block);
    WriteAll(2, block);
  }
  WriteAll(2, "the last line\n");
}

std::string OpenDescriptors() {
  std::string open;
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) absl::StrAppend(&open, open.empty() ? "" : " ", fd);
  }
  return open;
}

Observation RunTrial(const TrialSpec& trial, const std::string& mode) {
  Observation seen;
  seen.trial = trial;
  const int64_t steps = mode == "fewer_steps" ? trial.steps - 1 : trial.steps;
  for (int64_t step = 1; step <= steps; ++step) {
    Say({.type = ReplyType::kPhase, .phase = TrialPhase::kForward});
    Say({.type = ReplyType::kPhase, .phase = TrialPhase::kBackward});
    if (step == 2) {
      if (mode == "hang") {
        signal(SIGTERM, SIG_IGN);
        Hang();
      }
      // A sanitizer's own handlers would report these and exit.
      if (mode == "segv" || mode == "bus") {
        const int crash = mode == "segv" ? SIGSEGV : SIGBUS;
        signal(crash, SIG_DFL);
        raise(crash);
      }
      if (mode == "killed") raise(SIGKILL);
      if (mode == "abort") abort();
      if (mode == "bad_alloc") throw std::bad_alloc();
      if (mode == "exit") exit(3);
      if (mode == "exit_zero") exit(0);
      if (mode == "python_oom") {
        WriteAll(2,
                 "Traceback (most recent call last):\n  File \"train.py\", line 7\n"
                 "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0\n");
        exit(1);
      }
      if (mode == "garbage") WriteAll(report_fd, absl::string_view("\x7f\x45\x4c\x46\0\1\2\n", 8));
      if (mode == "not_json") WriteAll(report_fd, "loss: 0.3\n");
      if (mode == "overlong") WriteAll(report_fd, std::string(kMaxProtocolLine + 1, ' '));
      if (mode == "cut_short") {
        WriteAll(report_fd, "{\"type\":\"result\",\"result\":{\"tri");
        exit(0);
      }
      if (mode == "closes") {
        close(report_fd);
        Hang();
      }
    }
    StepObservation observed;
    observed.step = step;
    observed.step_ms = 1;
    observed.peak.reserved_bytes = 100 * trial.batch;
    Say({.type = ReplyType::kStep, .step = observed});
    seen.steps.push_back(observed);
  }
  seen.batch_seen = mode == "other_batch" ? 64 : trial.batch;
  // What the tests want to know of this process.
  seen.input_shapes = {Variable("CUDA_VISIBLE_DEVICES"), OpenDescriptors()};
  seen.output_shapes = {absl::StrCat(getpid())};
  if (mode == "out_of_memory") {
    WriteAll(2, "a word on stderr\n");
    seen.failure = Failure{.kind = FailureKind::kOutOfMemory, .message = "64 GiB asked for"};
  }
  return seen;
}

int Main(int argc, char** argv) {
  const std::string mode = Variable("TEST_CHILD");
  HoldFifo();
  if (mode == "missing_library") {
    WriteAll(2,
             "worker: error while loading shared libraries: libtorch.so: cannot open shared object "
             "file: No such file or directory\n");
    return 127;
  }
  if (argc > 1 && absl::string_view(argv[1]) == "--describe") {
    if (mode == "hang") Hang();
    if (mode == "mute") return 0;
    printf(
        "a library's chatter\n%s\n",
        ToJson(WorkerDescription{.libtorch_version = "2.11.0", .devices = std::vector<Device>(300)})
            .c_str());
    return 0;
  }
  if (mode == "daemon" || mode == "daemon_leaves") Daemonise();
  if (mode == "daemon_leaves") return 0;
  if (mode == "flood" || mode == "flood_only") Flood();
  if (mode == "flood_only") return 0;
  if (mode == "hang_deaf") signal(SIGTERM, SIG_IGN);
  if (mode == "hang_start" || mode == "hang_deaf" || Variable(kReportFdVariable).empty()) Hang();

  report_fd = atoi(Variable(kReportFdVariable).c_str());
  requests = fdopen(atoi(Variable(kRequestFdVariable).c_str()), "r");
  ReadLine();
  if (mode == "load_fails") {
    ReadLine();
    Observation seen;
    seen.failure = Failure{.kind = FailureKind::kModelError, .message = "no such model"};
    Say({.type = ReplyType::kResult, .result = seen});
    return 0;
  }
  Hello hello = {.protocol = kProtocolVersion, .pid = getpid()};
  if (mode == "old_version") hello.protocol = 0;
  if (mode == "other_device") hello.device_uuid = "GPU-other";
  Say({.type = ReplyType::kHello, .hello = hello});
  for (std::string line = ReadLine(); !line.empty(); line = ReadLine()) {
    const auto request = FromJson<Request>(line);
    if (!request.ok() || !request->trial.has_value()) return 8;
    Say({.type = ReplyType::kResult, .result = RunTrial(*request->trial, mode)});
    if (mode == "dies_idle") return 0;
  }
  return 0;
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) { return autobatch::Main(argc, argv); }
