#include "autobatch/simcuda/cat_kernel.h"

#include <gtest/gtest.h>

#include <string>

namespace autobatch::simcuda {
namespace {

const std::string kBefore = "_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c";
const std::string kAfter =
    "EEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_";

struct Inputs {
  const void* input[128];
  uint32_t offset[128];
  uint32_t size[128];
  uint32_t elements[128];
};

class CatKernelTest : public testing::Test {
 protected:
  CatKernelTest() {
    inputs_.input[0] = from_;
    inputs_.elements[0] = 3;
    inputs_.input[1] = from_ + 40;
    inputs_.offset[1] = 3;
    inputs_.elements[1] = 2;
  }

  std::optional<std::vector<CatPiece>> Read(const std::string& kernel) {
    char* to = to_;
    int shape = 0;
    int dimension = 0;
    uint32_t stride = 1;
    void* arguments[] = {static_cast<void*>(&to), &inputs_, &shape, &dimension, &stride};
    return ReadCat(kBefore + kernel + kAfter, arguments, /*block_rows=*/2);
  }

  char from_[64];
  char to_[64];
  Inputs inputs_ = {};
};

TEST_F(CatKernelTest, KernelsForContiguousTensors_OfOneDimension_SayTheirPieces) {
  for (const char* kernel :
       {"26CatArrayBatchedCopy_contigINS1_10OpaqueTypeILj8EEEjLi1ELi128ELi1E",
        "35CatArrayBatchedCopy_alignedK_contigINS1_10OpaqueTypeILj8EEEjLi1ELi128ELi1ELi16E",
        "30CatArrayBatchedCopy_vectorizedINS1_10OpaqueTypeILj8EEEjLi1ELi128ELi1ELi16ELi2E"}) {
    const auto pieces = Read(kernel);
    ASSERT_TRUE(pieces) << kernel;
    ASSERT_EQ(pieces->size(), 2);
    EXPECT_EQ((*pieces)[0].from, from_);
    EXPECT_EQ((*pieces)[0].to, to_);
    EXPECT_EQ((*pieces)[0].bytes, 24);
    EXPECT_EQ((*pieces)[1].from, from_ + 40);
    EXPECT_EQ((*pieces)[1].to, to_ + 24);
    EXPECT_EQ((*pieces)[1].bytes, 16);
  }
}

TEST_F(CatKernelTest, OtherKernels_OfSimilarNames_AreNot) {
  // Strides, two dimensions, 64-bit indices, less room than rows, something else.
  EXPECT_FALSE(Read("19CatArrayBatchedCopyINS1_10OpaqueTypeILj8EEEjLi1ELi64ELi64E"));
  EXPECT_FALSE(Read("26CatArrayBatchedCopy_contigINS1_10OpaqueTypeILj8EEEjLi2ELi128ELi1E"));
  EXPECT_FALSE(Read("26CatArrayBatchedCopy_contigINS1_10OpaqueTypeILj8EEElLi1ELi128ELi1E"));
  EXPECT_FALSE(Read("26CatArrayBatchedCopy_contigINS1_10OpaqueTypeILj8EEEjLi1ELi1ELi1E"));
  EXPECT_FALSE(Read("13reduce_kernelILi512ELi1E"));
}

}  // namespace
}  // namespace autobatch::simcuda
