#include "autobatch/trial/observer_file.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace autobatch {
namespace {

TEST(ObserverFileTest, WhatIsWrittenToTheFile_IsRead) {
  const std::vector<ObservedBudget> devices = {{"GPU-1", int64_t{1} << 30}, {"GPU-2", {}}};
  const auto file = ObserverFile::Create(devices);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->device(0).processes, 0);
  EXPECT_EQ((*file)->device(0).peak_bytes, 0);
  // As the observer in another process would see it: budget, processes, held, peak, refusals,
  // refused, ended of each device.
  int64_t words[14];
  std::fstream stream((*file)->path(), std::ios::binary | std::ios::in | std::ios::out);
  stream.read(reinterpret_cast<char*>(words), sizeof(words));
  EXPECT_EQ(words[0], int64_t{1} << 30);
  EXPECT_EQ(words[7], 0) << "no budget";
  words[1] = 1;
  words[3] = 7;
  words[9] = 5;
  stream.seekp(0);
  stream.write(reinterpret_cast<const char*>(words), sizeof(words));
  stream.flush();
  EXPECT_EQ((*file)->device(0).processes, 1);
  EXPECT_EQ((*file)->device(0).peak_bytes, 7);
  EXPECT_EQ((*file)->device(1).held_bytes, 5);
}

TEST(ObserverFileTest, Uuids_AreBytesAsTheDriverGivesThem) {
  const std::vector<ObservedBudget> devices = {
      {"GPU-00112233-4455-6677-8899-aabbccddeeFF", {}}, {"GPU-1234", {}}, {"", {}}};
  const auto file = ObserverFile::Create(devices);
  ASSERT_TRUE(file.ok()) << file.status();
  std::ifstream stream((*file)->path(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  ASSERT_EQ(bytes.size(), sizeof(ObservedDevices));
  const char* uuids = bytes.data() + offsetof(ObservedDevices, uuids);
  EXPECT_EQ(std::string(uuids, 4), std::string("\x00\x11\x22\x33", 4));
  EXPECT_EQ(std::string(uuids + 12, 4), "\xcc\xdd\xee\xff");
  EXPECT_EQ(std::string(uuids + 16, 32), std::string(32, '\0')) << "unknown";
}

TEST(ObserverFileTest, MoreDevicesThanThereIsRoomFor_AreRefused) {
  EXPECT_EQ(ObserverFile::Create(std::vector<ObservedBudget>(65)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ObserverFileTest, File_GoesWithItsObject) {
  auto file = ObserverFile::Create(std::vector<ObservedBudget>(1));
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string path = (*file)->path();
  EXPECT_TRUE(std::filesystem::exists(path));
  file->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace autobatch
