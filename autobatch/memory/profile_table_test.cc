#include "autobatch/memory/profile_table.h"

#include "gtest/gtest.h"

namespace autobatch {
namespace {

TEST(ProfileTable, Header_NamesTheUnit) {
  EXPECT_EQ(ProfileHeader(ProfileUnit::kGb),
            "      Params      GFLOPs  GPU_mem (GB)  forward (ms) backward (ms)"
            "                   input                  output");
  EXPECT_EQ(ProfileHeader(ProfileUnit::kGib),
            "      Params      GFLOPs GPU_mem (GiB)  forward (ms) backward (ms)"
            "                   input                  output");
}

TEST(ProfileTable, Row_AlignsWithTheHeader) {
  Observation observation;
  observation.parameters = 7235389;
  observation.forward_flops = 16.4888e9;
  observation.forward_ms = 12.3456;
  observation.backward_ms = 1234.56;
  observation.input_shapes = {"(1, 3, 640, 640)"};
  observation.output_shapes = {"(1, 25200, 85)", "(1, 3)"};
  EXPECT_EQ(ProfileRow(observation, 0.2954),
            "     7235389       16.49         0.295         12.35          1235"
            "        (1, 3, 640, 640)                    list");
}

TEST(ProfileTable, UnknownFacts_ReadAsInThePackages) {
  EXPECT_EQ(ProfileRow(Observation(), 0),
            "           0           0         0.000           nan           nan"
            "                    list                    list");
}

TEST(ProfileTable, FailedSize_IsItsError) {
  Observation observation;
  observation.failure = Failure{.message = "CUDA out of memory."};
  EXPECT_EQ(ProfileRow(observation, 0), "CUDA out of memory.");
}

}  // namespace
}  // namespace autobatch
