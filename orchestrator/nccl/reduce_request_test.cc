#include "orchestrator/nccl/reduce_request.h"

#include <gmock/gmock.h>

#include <limits>

#include "absl/status/status.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

ReduceRequest Good() {
  return {.unique_id = std::string(256, '7'),
          .world_size = 4,
          .rank_base = 2,
          .devices = {{.uuid = "GPU-a", .value = 8}, {.uuid = "GPU-b", .value = 0}}};
}

std::string Error(const ReduceRequest& request) {
  const absl::Status status = CheckReduceRequest(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(ReduceRequestTest, LastRanksOfTheWorld_AreAccepted) {
  EXPECT_TRUE(CheckReduceRequest(Good()).ok()) << CheckReduceRequest(Good());
}

TEST(ReduceRequestTest, RanksOutsideTheWorld_AreNamed) {
  ReduceRequest request = Good();
  request.rank_base = 3;
  EXPECT_EQ(Error(request), "ranks from 3, 2 of them, do not fit into a world of 4");
  request.rank_base = -1;
  EXPECT_THAT(Error(request), HasSubstr("ranks from -1"));
  request.rank_base = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Error(request), HasSubstr("do not fit"));
  request.rank_base = 0;
  request.world_size = 0;
  EXPECT_THAT(Error(request), HasSubstr("a world of 0 ranks"));
  request.world_size = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Error(request), HasSubstr("a world of 9223372036854775807 ranks"));
}

TEST(ReduceRequestTest, Devices_MustBeSomeAndDifferent) {
  ReduceRequest request = Good();
  request.devices[1].uuid = "GPU-a";
  EXPECT_EQ(Error(request), "device GPU-a is named twice");
  request.devices[1].uuid = "GPU-a,GPU-c";
  EXPECT_THAT(Error(request), HasSubstr("no UUID"));
  request.devices[1].uuid = "";
  EXPECT_THAT(Error(request), HasSubstr("no UUID"));
  request.devices.clear();
  EXPECT_THAT(Error(request), HasSubstr("0 devices"));
}

TEST(ReduceRequestTest, NegativeBatch_IsNamedWithItsDevice) {
  ReduceRequest request = Good();
  request.devices[1].value = -1;
  EXPECT_EQ(Error(request), "device GPU-b brings -1");
}

TEST(ReduceRequestTest, IdAndGradients_AreChecked) {
  ReduceRequest request = Good();
  request.unique_id = "12";
  EXPECT_THAT(Error(request), HasSubstr("unique id"));
  request = Good();
  request.gradient_bytes = -1;
  EXPECT_THAT(Error(request), HasSubstr("gradients of -1"));
  request.gradient_bytes = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Error(request), HasSubstr("gradients of"));
}

}  // namespace
}  // namespace autobatch
