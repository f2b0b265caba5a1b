#include "autobatch/device/dynamic_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace autobatch {
namespace {

TEST(DynamicLibraryTest, PresentLibrary_GivesItsFunctions) {
  absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Open("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status();
  double (*cosine)(double) = nullptr;
  library->Find("cos", cosine);
  ASSERT_NE(cosine, nullptr);
  EXPECT_TRUE(library->Has("cos"));
  EXPECT_EQ(cosine(0), 1);
}

TEST(DynamicLibraryTest, MissingFunction_IsNull) {
  absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Open("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status();
  int (*function)() = [] { return 1; };
  library->Find("nvmlInit_v2", function);
  EXPECT_EQ(function, nullptr);
  EXPECT_FALSE(library->Has("nvmlInit_v2"));
}

TEST(DynamicLibraryTest, MissingLibrary_IsNotFoundAndNamed) {
  const absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Open("libnone.so.77");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(library.status().message()), testing::HasSubstr("libnone.so.77"));
}

TEST(DynamicLibraryTest, OwnProcess_GivesWhatIsLinkedAlready) {
  const DynamicLibrary library = DynamicLibrary::OfProcess();
  int (*function)(const char*) = nullptr;
  library.Find("puts", function);
  EXPECT_NE(function, nullptr);
  library.Find("nvmlInit_v2", function);
  EXPECT_EQ(function, nullptr);
}

}  // namespace
}  // namespace autobatch
