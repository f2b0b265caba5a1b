#ifndef TESTS_SIM_LEDGER_H_
#define TESTS_SIM_LEDGER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "orchestrator/core/coordinator_io.h"
#include "orchestrator/core/coordinator_state.h"

namespace autobatch::sim {

// Everything that a cluster did which its members could regret, and the promises that it must have
// kept. It sees what nobody in the cluster can: all of it.
//
//   rounds      never come back, over all restarts of the coordinator
//   one record  a round has one committed digest, decided on the coordinator's disk
//   start       an agent starts only on a decided record of a round that it was a member of, on no
//               older one than anybody has started on, and not while its processes of one run
//   content     a record holds what its members reported for this very round, and nobody else
class Ledger {
 public:
  // An agent of ours has sent this report; what else arrives under its name is not its own.
  void OnReport(const std::string& agent, int64_t round, const std::vector<DeviceOutcome>& devices);
  // The coordinator's disk now says so.
  void OnDisk(const CoordinatorState& state);
  void OnRoundEnded(const coordinator::RoundEnded& ended);
  // Training processes start or have ended on the host of this agent.
  void OnTrainingStarts(const std::string& agent, const std::string& incarnation, int64_t round,
                        const std::string& digest);
  void OnTrainingEnds(const std::string& agent);
  void Violate(std::string what);

  const std::vector<std::string>& violations() const { return violations_; }
  int64_t commits() const { return static_cast<int64_t>(decided_.size()); }
  // The newest committed round and its digest; 0: none.
  int64_t last_round() const { return decided_.empty() ? 0 : decided_.rbegin()->first; }
  std::string last_digest() const {
    return decided_.empty() ? "" : decided_.rbegin()->second.digest;
  }

 private:
  struct Decision {
    std::string digest;
    std::set<std::string> members;
  };

  using Batches = std::map<std::string, int64_t>;

  // Of an agent in a round: all that it reported, since it may be restarted within it.
  std::map<std::pair<std::string, int64_t>, std::vector<Batches>> reported_;
  std::vector<std::string> violations_;
  int64_t round_on_disk_ = 0;
  std::map<int64_t, Decision> decided_;
  std::map<std::string, int64_t> last_start_;
  int64_t newest_start_ = 0;
  std::map<std::string, int64_t> training_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_LEDGER_H_
