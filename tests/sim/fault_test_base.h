#ifndef TESTS_SIM_FAULT_TEST_BASE_H_
#define TESTS_SIM_FAULT_TEST_BASE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "orchestrator/wire/messages.h"
#include "orchestrator/wire/whole_message.h"
#include "tests/sim/cluster_model.h"

// The faults that a cluster must survive, each played once on virtual time. Every test ends with
// the ledger's promises kept.
namespace autobatch::sim {

// Lost is noticed after so long without progress, and everybody who waits knows it then.
inline constexpr absl::Duration kNoticed = absl::Seconds(7);
inline constexpr absl::Duration kPlenty = absl::Minutes(2);

class FaultTest : public ::testing::Test {
 protected:
  ClusterModel& Make(ClusterOptions options) {
    cluster_ = std::make_unique<ClusterModel>(std::move(options));
    return *cluster_;
  }

  // Three agents of two devices, any two of which are enough.
  static ClusterOptions TwoOfThree() {
    ClusterOptions options{.agents = 3};
    options.coordinator.min_nodes = 2;
    return options;
  }
  static ClusterOptions AllOfThree() {
    ClusterOptions options{.agents = 3};
    options.coordinator.min_nodes = 3;
    options.coordinator.join_timeout = absl::Seconds(60);
    options.coordinator.expected = {"agent-1", "agent-2", "agent-3"};
    return options;
  }

  void TearDown() override {
    ASSERT_NE(cluster_, nullptr);
    EXPECT_THAT(cluster_->ledger().violations(), ::testing::IsEmpty());
    if (HasFailure()) std::fputs((cluster_->Log() + "\n").c_str(), stderr);
  }

  ClusterModel& cluster() { return *cluster_; }
  AgentHost& agent(int index) { return cluster_->agent(index); }
  CoordinatorHost& coordinator() { return cluster_->coordinator(); }

  bool Agree(absl::Duration limit = kPlenty) {
    return cluster_->RunUntil([this] { return cluster_->Agreed(); }, limit);
  }
  bool CoordinatorEnds(absl::Duration limit = kPlenty) {
    return cluster_->RunUntil([this] { return coordinator().finished().has_value(); }, limit);
  }
  bool AgentEnds(int index, absl::Duration limit = kPlenty) {
    return cluster_->RunUntil([this, index] { return agent(index).finished().has_value(); }, limit);
  }

 private:
  std::unique_ptr<ClusterModel> cluster_;
};

template <typename T>
bool Is(const coordinator::Send& send) {
  return std::holds_alternative<T>(*WholeMessage(*send.frame));
}

}  // namespace autobatch::sim

#endif  // TESTS_SIM_FAULT_TEST_BASE_H_
