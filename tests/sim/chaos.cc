#include "tests/sim/chaos.h"

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/sim/cluster_model.h"

namespace autobatch::sim {
namespace {

constexpr absl::Duration kTrouble = absl::Minutes(10);
constexpr absl::Duration kMendingTime = absl::Minutes(2);
constexpr absl::Duration kRestartsWithin = absl::Seconds(3);

class Chaos {
 public:
  Chaos(uint64_t seed, Sabotage sabotage)
      : setting_(seed), cluster_(Options(seed, sabotage)), random_(seed ^ 0x5eed) {}

  ChaosOutcome Run(uint64_t seed) {
    AgentHost& stranger = cluster_.AddAgent(/*stranger=*/true);
    const int members = cluster_.agents() - 1;
    for (int i = 0; i < members; ++i) {
      AgentHost::Setup& setup = cluster_.agent(i).setup();
      setup.echo_percent = static_cast<int>(Pick(random_, 0, 20));
      setup.first_probe = PickDuration(random_, absl::Milliseconds(50), absl::Seconds(30));
    }
    cluster_.Start();
    const SteadyTime end = Add(cluster_.time().Now(), kTrouble);
    while (cluster_.time().Now() < end) {
      cluster_.Run(PickDuration(random_, absl::Milliseconds(1), absl::Seconds(10)));
      Strike(members, stranger);
      Supervise(members);
    }
    Mend(members);
    stranger.Kill();
    const auto agreed = [&] {
      Supervise(members);
      return cluster_.Agreed();
    };
    if (!cluster_.RunUntil(agreed, kMendingTime)) {
      cluster_.ledger().Violate("two minutes after the last fault there is no agreement of all");
    }
    return {.seed = seed,
            .violations = cluster_.ledger().violations(),
            .commits = cluster_.ledger().commits(),
            .faults = faults_,
            .log = cluster_.Log()};
  }

 private:
  ClusterOptions Options(uint64_t seed, Sabotage sabotage) {
    ClusterOptions options{.seed = seed, .sabotage = sabotage};
    options.agents = static_cast<int>(Pick(setting_, 1, 6));
    options.devices = static_cast<int>(Pick(setting_, 1, 4));
    CoordinatorConfig& config = options.coordinator;
    config.min_nodes = Pick(setting_, 1, options.agents);
    config.max_nodes = options.agents;
    config.join_timeout = PickDuration(setting_, absl::Seconds(20), absl::Seconds(600));
    config.last_call = PickDuration(setting_, absl::ZeroDuration(), absl::Seconds(10));
    config.reduce = static_cast<ReduceMode>(Pick(setting_, 0, 2));
    config.reduce_timeout = absl::Seconds(10);
    config.failed_device = FailedDevicePolicy::kExclude;
    return options;
  }

  // One fault, drawn.
  void Strike(int members, AgentHost& stranger) {
    ++faults_;
    AgentHost& agent = cluster_.agent(static_cast<int>(Pick(random_, 0, members - 1)));
    CoordinatorHost& coordinator = cluster_.coordinator();
    Network& network = cluster_.network();
    const int host = agent.setup().host;
    switch (Pick(random_, 0, 16)) {
      default:  // What happens most often.
        agent.Kill();
        break;
      case 2:
        coordinator.Kill();
        break;
      case 3:
        if (agent.running()) agent.Stop();
        break;
      case 4:
        if (coordinator.running()) coordinator.Stop();
        break;
      case 5:
      case 6:
        Wake(members);
        break;
      case 7:
        network.Block(host, Network::kCoordinator);
        if (Chance(random_, 70)) network.Block(Network::kCoordinator, host);
        break;
      case 8:
      case 9:
        network.Heal();
        break;
      case 10:
        network.SetDelay(absl::Microseconds(50),
                         PickDuration(random_, absl::Milliseconds(1), absl::Seconds(2)));
        break;
      case 11:
        if (agent.running()) agent.Drain(/*done=*/false);
        break;
      case 12:
        if (coordinator.running()) coordinator.Drain();
        break;
      case 13: {
        const absl::Status full =
            Chance(random_, 30) ? absl::ResourceExhaustedError("disk full") : absl::OkStatus();
        agent.FailDisk(full);
        break;
      }
      case 14:
        if (!stranger.running()) stranger.Start();
        break;
      case 15:
      case 16:
        agent.CrashTraining();
        break;
    }
  }

  void Wake(int members) {
    for (int i = 0; i < members; ++i) {
      if (cluster_.agent(i).stopped()) cluster_.agent(i).Continue();
    }
    if (cluster_.coordinator().running()) cluster_.coordinator().Continue();
  }

  // What restarts programs that have ended: the cluster's manager, which takes a moment.
  void Supervise(int members) {
    for (int i = 0; i < members; ++i) {
      AgentHost& agent = cluster_.agent(i);
      if (agent.running() || !starting_.insert(agent.name()).second) continue;
      cluster_.time().After(PickDuration(random_, absl::Milliseconds(10), kRestartsWithin),
                            [this, &agent] {
                              starting_.erase(agent.name());
                              if (!agent.running()) agent.Start();
                            });
    }
    if (cluster_.coordinator().running() || !starting_.insert("coordinator").second) return;
    cluster_.time().After(PickDuration(random_, absl::Milliseconds(10), kRestartsWithin), [this] {
      starting_.erase("coordinator");
      if (cluster_.coordinator().running()) return;
      // Somebody may want another global batch meanwhile.
      if (Chance(random_, 25)) {
        cluster_.coordinator().AskFor({{"--global-batch", absl::StrCat(64 * Pick(random_, 1, 4))}});
      }
      cluster_.coordinator().Start();
    });
  }

  void Mend(int members) {
    cluster_.network().Heal();
    cluster_.network().SetDelay(absl::Microseconds(50), absl::Milliseconds(5));
    for (int i = 0; i < members; ++i) {
      cluster_.agent(i).FailDisk(absl::OkStatus());
      cluster_.agent(i).setup().echo_percent = 0;
    }
    Wake(members);
  }

  // The cluster's make-up and its faults are drawn apart, so that a change to one leaves the other.
  Random setting_;
  ClusterModel cluster_;
  Random random_;
  std::set<std::string> starting_;
  int64_t faults_ = 0;
};

}  // namespace

ChaosOutcome RunChaos(uint64_t seed, Sabotage sabotage) { return Chaos(seed, sabotage).Run(seed); }

}  // namespace autobatch::sim
