#include "orchestrator/net/seal.h"

#include <string>

#include "gtest/gtest.h"

namespace autobatch {
namespace {

Secret SomeSecret(const std::string& text) { return Secret::FromBytes(text).value(); }

TEST(SealTest, Plain_KnownText_Sha256) {
  EXPECT_EQ(MakePlainSeal()("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(SealTest, Keyed_SecretAndTextMatter_AndNothingElse) {
  const Seal seal = MakeKeyedSeal(SomeSecret("0123456789abcdef")).value();
  EXPECT_EQ(seal("abc").size(), 64u);
  EXPECT_EQ(seal("abc"), MakeKeyedSeal(SomeSecret("0123456789abcdef")).value()("abc"));
  EXPECT_NE(seal("abc"), seal("abd"));
  EXPECT_NE(seal("abc"), MakeKeyedSeal(SomeSecret("0123456789abcdeX")).value()("abc"));
  EXPECT_NE(seal("abc"), MakePlainSeal()("abc"));
}

// HMAC-SHA256 with the key that HKDF gives for the purpose; computed with Python's hmac.
TEST(SealTest, Keyed_KnownSecret_HmacSha256) {
  EXPECT_EQ(MakeKeyedSeal(SomeSecret("0123456789abcdef")).value()("abc"),
            "37139444b87c4f21260d3199bb3356e582d57c15ab048cb3be3941c42779ce6b");
}

TEST(SealTest, SealsEqual_SameOnly_True) {
  const std::string seal = MakePlainSeal()("abc");
  EXPECT_TRUE(SealsEqual(seal, std::string(seal)));
  EXPECT_FALSE(SealsEqual(seal, MakePlainSeal()("abd")));
  EXPECT_FALSE(SealsEqual(seal, seal.substr(1)));
  EXPECT_FALSE(SealsEqual("", ""));
}

}  // namespace
}  // namespace autobatch
