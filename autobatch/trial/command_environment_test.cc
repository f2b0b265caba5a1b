#include "autobatch/trial/command_environment.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

EnvironmentLookup In(const Environment& environment) {
  return [environment](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  };
}

Environment Of(const absl::StatusOr<CommandEnvironment>& made) {
  EXPECT_TRUE(made.ok()) << made.status();
  if (!made.ok()) return {};
  return Environment(made->variables.begin(), made->variables.end());
}

const std::vector<Device> kGpu = {{.uuid = "GPU-1234", .kind = DeviceKind::kCuda}};
const std::vector<Device> kCpu = {{.uuid = "CPU-1", .kind = DeviceKind::kCpu}};

TEST(CommandEnvironmentTest, Command_SeesItsDeviceAlone) {
  EXPECT_EQ(Of(MakeCommandEnvironment(kGpu, "/o", 0.5, In({}))).at("CUDA_VISIBLE_DEVICES"),
            "GPU-1234");
  EXPECT_EQ(Of(MakeCommandEnvironment(kCpu, "/o", std::nullopt, In({}))).at("CUDA_VISIBLE_DEVICES"),
            "");
}

TEST(CommandEnvironmentTest, CommandOnAllDevices_SeesThemInTheirOrder) {
  const std::vector<Device> two = {{.uuid = "GPU-b", .kind = DeviceKind::kCuda},
                                   {.uuid = "GPU-a", .kind = DeviceKind::kCuda}};
  EXPECT_EQ(Of(MakeCommandEnvironment(two, "/o", 0.5, In({}))).at("CUDA_VISIBLE_DEVICES"),
            "GPU-b,GPU-a");
}

TEST(CommandEnvironmentTest, Loggers_UploadNothingButLoadingWorks) {
  const Environment made =
      Of(MakeCommandEnvironment(kCpu, "/out", std::nullopt, In({{"WANDB_MODE", "online"}})));
  EXPECT_EQ(made.at("WANDB_MODE"), "disabled");
  EXPECT_EQ(made.at("MLFLOW_TRACKING_URI"), "file:/out/mlruns");
  EXPECT_EQ(made.count("HF_HUB_OFFLINE"), 0);
  EXPECT_EQ(made.count("PYTORCH_CUDA_ALLOC_CONF"), 0) << "the CPU has no such allocator";
}

TEST(CommandEnvironmentTest, CompiledKernels_StayWhereTheyWouldBe) {
  const auto made = [](const Environment& own) {
    return Of(MakeCommandEnvironment(kCpu, "/out", std::nullopt, In(own)));
  };
  EXPECT_EQ(made({}).count("TORCHINDUCTOR_CACHE_DIR"), 0) << "nobody knows whose they are";
  EXPECT_EQ(made({{"USER", "DOMAIN\\me"}}).at("TORCHINDUCTOR_CACHE_DIR"),
            "/tmp/torchinductor_DOMAIN_me");
  EXPECT_EQ(made({{"TMPDIR", "/scratch"}, {"LOGNAME", "me"}}).at("TORCHINDUCTOR_CACHE_DIR"),
            "/scratch/torchinductor_me");
  EXPECT_EQ(
      made({{"USER", "me"}, {"TORCHINDUCTOR_CACHE_DIR", "/k"}}).count("TORCHINDUCTOR_CACHE_DIR"),
      0);
}

TEST(CommandEnvironmentTest, Fraction_IsPutIntoEveryNameTheUserHasSet) {
  const Environment plain = Of(MakeCommandEnvironment(kGpu, "/o", 0.5, In({})));
  EXPECT_EQ(plain.at("PYTORCH_CUDA_ALLOC_CONF"), "per_process_memory_fraction:0.500000");
  EXPECT_EQ(plain.count("PYTORCH_ALLOC_CONF"), 0);
  const Environment both =
      Of(MakeCommandEnvironment(kGpu, "/o", 0.5,
                                In({{"PYTORCH_ALLOC_CONF", "expandable_segments:True"},
                                    {"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64"}})));
  EXPECT_EQ(both.at("PYTORCH_ALLOC_CONF"),
            "expandable_segments:True,per_process_memory_fraction:0.500000");
  EXPECT_EQ(both.at("PYTORCH_CUDA_ALLOC_CONF"),
            "max_split_size_mb:64,per_process_memory_fraction:0.500000");
}

TEST(CommandEnvironmentTest, ConflictingFraction_IsTold) {
  const auto made = MakeCommandEnvironment(
      kGpu, "/o", 0.5, In({{"PYTORCH_ALLOC_CONF", "per_process_memory_fraction:0.8"}}));
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->warnings.size(), 1u);
  EXPECT_THAT(made->warnings[0], HasSubstr("PYTORCH_ALLOC_CONF: your per_process_memory_fraction"));
}

TEST(CommandEnvironmentTest, DriversAllocator_IsRefusedWithOrWithoutALimit) {
  const auto lookup = In({{"PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync"}});
  for (const std::optional<double> fraction :
       {std::optional<double>(0.5), std::optional<double>()}) {
    const auto made = MakeCommandEnvironment(kGpu, "/o", fraction, lookup);
    EXPECT_EQ(made.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(made.status().message()), HasSubstr("PYTORCH_CUDA_ALLOC_CONF"));
  }
  EXPECT_TRUE(MakeCommandEnvironment(kCpu, "/o", std::nullopt, lookup).ok());
}

}  // namespace
}  // namespace autobatch
