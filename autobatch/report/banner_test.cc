#include "autobatch/report/banner.h"

#include <gmock/gmock.h>

#include "autobatch/report/golden.h"
#include "autobatch/report/sample_report.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BannerTest, TwoGpusAndAWarning_AreAsInTheGoldenFile) {
  std::vector<Device> devices = {ConfirmedResult(0, 16).device, ConfirmedResult(1, 16).device};
  devices[1].simulated = true;
  devices[1].memory.free_bytes.reset();
  devices[1].memory.others = {{.pid = 7, .bytes = int64_t{1} << 30, .name = "python"}};
  ExpectGolden("banner.txt", Banner(ReportOf({}).host, {}, devices,
                                    {"CUDA_VISIBLE_DEVICES was cut at entry 3 ('x')"}));
}

TEST(BannerTest, NoGpu_SaysNoneAndNeverZero) {
  HostFacts host;
  host.libtorch_version = "2.11.0";
  host.driver_version = "";
  const std::string banner = Banner(host, {}, {PartialResult().device}, {});
  EXPECT_THAT(banner, HasSubstr("CUDA none, no NVIDIA driver, NCCL none"));
  EXPECT_THAT(banner, HasSubstr("CUDA_VISIBLE_DEVICES is not set"));
  EXPECT_THAT(banner, Not(HasSubstr(" 0")));
}

TEST(BannerTest, Command_BringsItsOwnFramework) {
  const WorkloadSpec command{.kind = WorkloadKind::kCommand, .command = {"python", "train.py"}};
  EXPECT_THAT(
      Banner(ReportOf({}).host, command, {}, {}),
      HasSubstr("NVIDIA driver 580.65.06; the command brings its framework, autobatch's own "
                "is LibTorch 2.11.0, CUDA 13.0, NCCL 2.28.9\n"));
}

TEST(BannerTest, EmptyVariable_IsNotTheSameAsUnset) {
  HostFacts host;
  host.cuda_visible_devices = "";
  EXPECT_THAT(Banner(host, {}, {}, {}), HasSubstr("set and empty: no GPU is visible"));
}

TEST(BannerTest, HostileNames_AddNoLine) {
  const NodeReport hostile = HostileReport();
  const std::string banner =
      Banner(hostile.host, hostile.workload, {hostile.devices[0].device}, {std::string(kHostile)});
  EXPECT_THAT(banner, Not(HasSubstr("\x1b")));
  EXPECT_THAT(banner, Not(HasSubstr("\nAUTOBATCH")));
}

}  // namespace
}  // namespace autobatch
