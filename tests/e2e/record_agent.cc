// Stands for an agent of a cluster that has agreed: serves a record's shares on a Unix socket.
//
//   record_agent SOCKET RECORD RANKS     then, on stdin: a batch a line, each one a new round
//
// Says the round on stdout once its record is there, and ends at the end of stdin.

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include "autobatch/base/files.h"
#include "orchestrator/launch/stored_record.h"
#include "orchestrator/net/seal.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/worker_server.h"
#include "orchestrator/service/worker_share.h"

namespace autobatch {
namespace {

class RecordAgent {
 public:
  RecordAgent(std::string path, int64_t ranks) : path_(std::move(path)), ranks_(ranks) {}

  // A record as a round would commit it, but for who set the minimum.
  bool Agree(int64_t batch) {
    absl::StatusOr<Record> record = MakeFallbackRecord({.run_id = "job1",
                                                        .batch = batch,
                                                        .world_size = ranks_,
                                                        .plan = {.min_world_size = 1},
                                                        .last_round = round_},
                                                       MakePlainSeal());
    if (record.ok()) {
      record->fallback = false;
      record->minimum_node = "n1";
      record->minimum_device = "GPU-1";
      record = MakeRecord(*std::move(record), {}, MakePlainSeal());
    }
    if (!record.ok() || !WriteFileAtomically(path_, RecordText(*record)).ok()) {
      std::cerr << record.status() << "\n";
      return false;
    }
    round_ = record->round;
    record_ = *std::move(record);
    return true;
  }

  std::optional<WorkerReply> Answer(const WorkerRequest& request) const {
    if (!record_.has_value()) return std::nullopt;
    absl::StatusOr<WorkerShare> share = ShareFor(*record_, path_, {}, request);
    if (!share.ok()) {
      return WorkerReply{.verdict = WorkerVerdict::kWorldSize,
                         .message = std::string(share.status().message())};
    }
    WorkerReply reply{.verdict = WorkerVerdict::kGranted, .variables = VariablesOf(*share)};
    reply.share = *std::move(share);
    return reply;
  }

  int64_t round() const { return round_; }

 private:
  const std::string path_;
  const int64_t ranks_;
  int64_t round_ = 0;
  std::optional<Record> record_;
};

int Main(int argc, char** argv) {
  if (argc != 4) return 2;
  RecordAgent agent(argv[2], std::atoll(argv[3]));
  boost::asio::io_context io(1);
  const auto server = WorkerServer::Listen(
      io, {.path = argv[1]}, [&](const WorkerRequest& request) { return agent.Answer(request); });
  if (!server.ok()) {
    std::cerr << server.status() << "\n";
    return 1;
  }
  std::thread reader([&] {
    for (std::string line; std::getline(std::cin, line);) {
      boost::asio::post(io, [&, batch = std::atoll(line.c_str())] {
        if (!agent.Agree(batch)) return io.stop();
        (*server)->RecordChanged();
        std::cout << agent.round() << std::endl;
      });
    }
    io.stop();
  });
  io.run();
  reader.join();
  return 0;
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) { return autobatch::Main(argc, argv); }
