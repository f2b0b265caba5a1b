#include "autobatch/trial/observer_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace autobatch {
namespace {

TEST(ObserverFileTest, WhatIsWrittenToTheFile_IsRead) {
  const auto file = ObserverFile::Create(int64_t{1} << 30);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE((*file)->observed());
  EXPECT_EQ((*file)->peak_bytes(), 0);
  // As the observer in another process would see it: budget, processes, held, peak, refusals,
  // ended.
  int64_t words[7];
  std::fstream stream((*file)->path(), std::ios::binary | std::ios::in | std::ios::out);
  stream.read(reinterpret_cast<char*>(words), sizeof(words));
  EXPECT_EQ(words[0], int64_t{1} << 30);
  words[1] = 1;
  words[2] = 5;
  words[3] = 7;
  words[4] = 2;
  words[5] = 9;
  words[6] = 0;
  stream.seekp(0);
  stream.write(reinterpret_cast<const char*>(words), sizeof(words));
  stream.flush();
  EXPECT_TRUE((*file)->observed());
  EXPECT_EQ((*file)->held_bytes(), 5);
  EXPECT_EQ((*file)->peak_bytes(), 7);
  EXPECT_EQ((*file)->refusals(), 2);
  EXPECT_EQ((*file)->refused_bytes(), 9);
  EXPECT_TRUE((*file)->complete());
  words[6] = 1;
  stream.seekp(0);
  stream.write(reinterpret_cast<const char*>(words), sizeof(words));
  stream.flush();
  EXPECT_FALSE((*file)->complete());
}

TEST(ObserverFileTest, File_GoesWithItsObject) {
  auto file = ObserverFile::Create(std::nullopt);
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string path = (*file)->path();
  EXPECT_TRUE(std::filesystem::exists(path));
  file->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace autobatch
