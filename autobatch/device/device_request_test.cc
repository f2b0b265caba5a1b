#include "autobatch/device/device_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = DeviceRequest::Kind;

DeviceRequest Parse(absl::string_view text) {
  absl::StatusOr<DeviceRequest> request = ParseDeviceRequest(text);
  EXPECT_TRUE(request.ok()) << request.status();
  return request.ok() ? *std::move(request) : DeviceRequest();
}

TEST(ParseDeviceRequestTest, ValidLists_AreRead) {
  EXPECT_EQ(Parse("").kind, Kind::kDefault);
  EXPECT_EQ(Parse("cpu").kind, Kind::kCpu);
  EXPECT_EQ(Parse("cuda").kind, Kind::kCuda);
  EXPECT_THAT(Parse("cuda").indices, IsEmpty());
  EXPECT_THAT(Parse("cuda:2, 0").indices, ElementsAre(2, 0));
}

TEST(ParseDeviceRequestTest, WrongLists_AreNamedWithWhatIsRight) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"cuad", "did you mean 'cuda'?"},
      {"gpu:1", "did you mean 'cuda:1'?"},
      {"rocm", "valid: cuda, cpu"},
      {"0,1", "right would be cuda:0,1"},
      {"cuda,cpu", "one kind"},
      {"cuda:", "'' is no index"},
      {"cuda:0,,1", "'' is no index"},
      {"cuda:-1", "'-1' is no index"},
      {"cuda:x", "'x' is no index"},
      {"cuda:99999999999999999999", "is no index"},
      {"cuda:1,0,1", "names device 1 twice"},
      {"cpu:0", "the CPU is one device"},
  };
  for (const auto& c : cases) {
    const absl::Status status = ParseDeviceRequest(c.text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(ParseDeviceRequestTest, SimulatedDevices_AreCudaDevicesOfThatList) {
  const absl::StatusOr<DeviceRequest> request = ParseDeviceRequest("sim:rtx3090:used=4GiB,a100-80");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->kind, DeviceRequest::Kind::kCuda);
  EXPECT_EQ(request->simulated, "rtx3090:used=4GiB,a100-80");
  EXPECT_TRUE(ParseDeviceRequest("cuda")->simulated.empty());
  for (const char* empty : {"sim", "sim:"}) {
    EXPECT_THAT(std::string(ParseDeviceRequest(empty).status().message()),
                HasSubstr("sim:rtx3090"));
  }
}

}  // namespace
}  // namespace autobatch
