#include "autobatch/simcuda/visible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch::simcuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The rules for whole GPUs are held by the shared vectors in tests/vectors; here is what those
// lack.
const std::vector<SelectableGpu> kGpus = {
    {.uuid = "GPU-aa", .instances = {}},
    {.uuid = "GPU-ab", .instances = {"MIG-c1", "MIG-d1"}},
};

SelectedDevice Whole(size_t gpu) { return {.gpu = gpu, .instance = std::nullopt}; }
SelectedDevice Instance(size_t gpu, size_t instance) { return {.gpu = gpu, .instance = instance}; }

TEST(VisibleTest, Unset_WithWholeGpusOnly_ShowsAll) {
  EXPECT_THAT(SelectVisible(std::nullopt, {kGpus[0], {.uuid = "GPU-b", .instances = {}}}),
              ElementsAre(Whole(0), Whole(1)));
}

TEST(VisibleTest, Empty_Always_ShowsNone) { EXPECT_THAT(SelectVisible("", kGpus), IsEmpty()); }

TEST(VisibleTest, GpuInMigMode_ByAnyName_ShowsOneInstance) {
  EXPECT_THAT(SelectVisible(std::nullopt, kGpus), ElementsAre(Instance(1, 0)));
  EXPECT_THAT(SelectVisible("GPU-ab", kGpus), ElementsAre(Instance(1, 0)));
  EXPECT_THAT(SelectVisible("MIG-d", kGpus), ElementsAre(Instance(1, 1)));
  EXPECT_THAT(SelectVisible("MIG-c1,MIG-d1", kGpus), ElementsAre(Instance(1, 0)));
  EXPECT_THAT(SelectVisible("0", kGpus), ElementsAre(Whole(0)));
}

}  // namespace
}  // namespace autobatch::simcuda
