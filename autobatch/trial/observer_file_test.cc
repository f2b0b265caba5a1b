#include "autobatch/trial/observer_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "autobatch/types/observed_memory.h"

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

TEST(ObserverFileTest, Growth_IsToldByTheWorkThatWasDoneBefore) {
  const auto file = ObserverFile::Create(std::vector<ObservedBudget>(2));
  ASSERT_TRUE(file.ok()) << file.status();
  const int descriptor = open((*file)->path().c_str(), O_RDWR);
  ASSERT_GE(descriptor, 0);
  void* memory =
      mmap(nullptr, sizeof(ObservedDevices), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  ASSERT_NE(memory, MAP_FAILED);
  auto* shared = static_cast<ObservedDevices*>(memory);
  shared->launches = 99;
  EXPECT_EQ((*file)->GrewAfter(1, 0.5), std::nullopt) << "too few to tell";
  shared->launches = 1000;
  const std::pair<int64_t, int64_t> rises[] = {{0, 1000}, {500, 2000}, {900, 2100}};
  for (const auto& [launches, peak] : rises) {
    ObservedRises::Rise& rise = shared->rises[1].rises[shared->rises[1].count++];
    rise.launches = launches;
    rise.peak_bytes = peak;
  }
  shared->devices[1].peak_bytes = 2110;
  EXPECT_EQ((*file)->GrewAfter(1, 0.25), true);
  EXPECT_EQ((*file)->GrewAfter(1, 0.875), true);
  EXPECT_EQ((*file)->GrewAfter(1, 0.9), true) << "a step's memory comes before its first kernel";
  EXPECT_EQ((*file)->GrewAfter(1, 0.95), false) << "not worth a note";
  EXPECT_EQ((*file)->GrewAfter(0, 0.5), false) << "nothing was taken there";
  munmap(memory, sizeof(ObservedDevices));
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

TEST(ObserverFileTest, LibraryInAPlaceWithSpaces_IsReachedByALink) {
  const auto file = ObserverFile::Create(std::vector<ObservedBudget>(1));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->PreloadPath("/opt/lib/libobserver.so"), "/opt/lib/libobserver.so");
  const std::string link = (*file)->PreloadPath("/opt/my tools/libobserver.so");
  EXPECT_EQ(link.find_first_of(" :"), std::string::npos);
  EXPECT_EQ(std::filesystem::read_symlink(link), "/opt/my tools/libobserver.so");
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
