#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/types/json.h"
#include "autobatch/worker/describe.h"
#include "autobatch/worker/models/make_workload.h"
#include "autobatch/worker/protocol_channel.h"
#include "autobatch/worker/serve.h"

namespace {

constexpr char kHelp[] =
    R"(autobatch worker: runs training steps and reports what they took.

It is started by autobatch, which sends it requests and reads its reports on two inherited
descriptors (AUTOBATCH_REQUEST_FD and AUTOBATCH_REPORT_FD, JSON lines), shows it one device by
CUDA_VISIBLE_DEVICES, and replaces it after a failure. By hand it is of use only for:

  worker --describe   one JSON line: the versions of LibTorch, CUDA, cuDNN and NCCL, and the devices
                      that the CUDA driver shows
  worker --help       this text

OMP_NUM_THREADS sets the threads of a CPU step (default: one a core).
)";

// 2: used wrongly.
constexpr int kUsage = 2;

int Main(int argc, char** argv) {
  const absl::string_view argument = argc > 1 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && argument != "--describe" && argument != "--help")) {
    std::fprintf(stderr, "worker: unknown argument '%s'; try --help\n", argv[argc - 1]);
    return kUsage;
  }
  if (argument == "--help") return std::fputs(kHelp, stdout) < 0 ? 1 : 0;
  if (argument == "--describe") {
    const std::string line = autobatch::ToJson(autobatch::DescribeWorker());
    return std::puts(line.c_str()) < 0 ? 1 : 0;
  }

  absl::StatusOr<autobatch::ProtocolChannel> channel =
      autobatch::ProtocolChannel::FromEnvironment();
  if (!channel.ok()) {
    std::fprintf(stderr, "worker: %s\n", std::string(channel.status().message()).c_str());
    return kUsage;
  }
  const absl::Status status = autobatch::Serve(*channel, &autobatch::MakeWorkload);
  if (!status.ok()) {
    std::fprintf(stderr, "worker: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Nothing may outlive the parent: a worker without one holds a device for nobody.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that is gone is an error of writing, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  const int code = Main(argc, argv);
  std::fflush(nullptr);
  // No destructors: on a lost device they throw, and elsewhere they only cost time.
  std::_Exit(code);
}
