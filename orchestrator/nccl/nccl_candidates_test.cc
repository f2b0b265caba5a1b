#include "orchestrator/nccl/nccl_candidates.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;

class NcclCandidatesTest : public ::testing::Test {
 protected:
  NcclCandidatesTest() {
    std::string folder = ::testing::TempDir() + "/nccl.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  ~NcclCandidatesTest() override { std::filesystem::remove_all(folder_); }

  std::string Make(const std::string& path) {
    EXPECT_TRUE(WriteFileAtomically(folder_ + "/" + path, "").ok());
    return folder_ + "/" + path;
  }
  std::vector<std::string> Candidates(const std::map<std::string, std::string>& environment) {
    return NcclCandidates([&](const char* name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      if (found == environment.end()) return std::nullopt;
      return found->second;
    });
  }

  std::string folder_;
};

TEST_F(NcclCandidatesTest, EmptyEnvironment_LeavesItToTheLoader) {
  EXPECT_THAT(Candidates({}), ElementsAre("libnccl.so.2"));
  EXPECT_THAT(Candidates({{"LIBTORCH_DIR", ""}, {"VIRTUAL_ENV", "/none"}, {"CONDA_PREFIX", ""}}),
              ElementsAre("libnccl.so.2"));
}

TEST_F(NcclCandidatesTest, LibtorchFolder_InEachOfItsLayouts) {
  const std::string wheel = Make("target/nvidia/nccl/lib/libnccl.so.2");
  Make("target/torch/lib/libc10.so");
  EXPECT_THAT(Candidates({{"LIBTORCH_DIR", folder_ + "/target"}}),
              ElementsAre(wheel, "libnccl.so.2"));
  EXPECT_THAT(
      Candidates({{"LIBTORCH_DIR", folder_ + "/target/torch"}}),
      ElementsAre(folder_ + "/target/torch/../nvidia/nccl/lib/libnccl.so.2", "libnccl.so.2"));
  const std::string zip = Make("zip/lib/libnccl.so.2");
  EXPECT_THAT(Candidates({{"LIBTORCH_DIR", folder_ + "/zip"}}), ElementsAre(zip, "libnccl.so.2"));
}

TEST_F(NcclCandidatesTest, PythonEnvironment_GivesTheWheelOfItsPython) {
  const std::string wheel = Make("venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  Make("venv/lib/python3.9/other");
  const std::string conda = Make("conda/lib/libnccl.so.2");
  EXPECT_THAT(
      Candidates({{"VIRTUAL_ENV", folder_ + "/venv"}, {"CONDA_PREFIX", folder_ + "/conda"}}),
      ElementsAre(wheel, conda, "libnccl.so.2"));
}

}  // namespace
}  // namespace autobatch
