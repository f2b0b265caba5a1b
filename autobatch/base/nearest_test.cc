#include "autobatch/base/nearest.h"

#include <gmock/gmock.h>

#include <vector>

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kModels = {"resnet18", "resnet50", "vit-b-16", "gpt2"};

TEST(NearestTest, Typo_FindsTheNameMeant) {
  EXPECT_EQ(Nearest("resnet81", kModels), "resnet18");
  EXPECT_EQ(Nearest("vit_b_16", kModels), "vit-b-16");
}

TEST(NearestTest, PartOfAName_FindsTheWhole) {
  EXPECT_EQ(Nearest("VIT", kModels), "vit-b-16");
  EXPECT_EQ(Nearest("fp16", std::vector<std::string>{"fp32", "amp_fp16"}), "amp_fp16");
}

TEST(NearestTest, AnotherWord_FindsNothing) {
  EXPECT_EQ(Nearest("bert-large-uncased", kModels), "");
}

TEST(UnknownNameTest, Message_NamesInputSuggestionAndList) {
  const std::string text(UnknownName("workload", "resnet5", kModels).message());
  EXPECT_THAT(text, HasSubstr("unknown workload 'resnet5'; did you mean 'resnet50'?"));
  EXPECT_THAT(text, HasSubstr("vit-b-16, gpt2"));
  EXPECT_THAT(std::string(UnknownName("workload", "xxxxxxxxx", kModels).message()),
              Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace autobatch
