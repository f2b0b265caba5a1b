// The preload as a foreign program meets it. house(test): it tests libobserver.so.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "autobatch/types/observed_memory.h"

namespace autobatch::observer {
namespace {

class ObserverTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "/observed";
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(file, 0);
    ASSERT_EQ(ftruncate(file, sizeof(ObservedDevices)), 0);
    void* memory =
        mmap(nullptr, sizeof(ObservedDevices), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ASSERT_NE(memory, MAP_FAILED);
    close(file);
    shared_ = static_cast<ObservedDevices*>(memory);
  }
  void TearDown() override { munmap(shared_, sizeof(ObservedDevices)); }

  // What the program says.
  std::string Run(const std::string& way,
                  const std::string& program =
                      "autobatch/observer/observed_program autobatch/observer/libcudafake.so ") {
    const std::string command = std::string(kObserverFileVariable) + "='" + path_ +
                                "' LD_PRELOAD=$PWD/autobatch/observer/libobserver.so " + program +
                                way + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string said;
    for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) said += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0) << said;
    return said;
  }

  std::string path_;
  ObservedDevices* shared_ = nullptr;
};

TEST_P(ObserverTest, Allocations_AreCountedOnceAndGivenBack) {
  EXPECT_EQ(Run(GetParam()), "0 0 0\n");
  EXPECT_EQ(shared_->devices[0].processes, 1);
  EXPECT_EQ(shared_->devices[0].peak_bytes, 900);
  EXPECT_EQ(shared_->devices[0].held_bytes, 0);
  EXPECT_EQ(shared_->launches, 1);
  EXPECT_EQ(shared_->devices[0].refusals, 0);
}

TEST_P(ObserverTest, AboveTheBudget_IsCudasOwnOutOfMemory) {
  shared_->devices[0].budget_bytes = 800;
  EXPECT_EQ(Run(GetParam()), "0 0 2\n");
  EXPECT_EQ(shared_->devices[0].peak_bytes, 700);
  EXPECT_EQ(shared_->devices[0].refusals, 1);
  EXPECT_EQ(shared_->devices[0].refused_bytes, 500);
}

INSTANTIATE_TEST_SUITE_P(EveryWay, ObserverTest,
                         ::testing::Values("dlsym", "procaddress", "runtime", "entrypoint"));

TEST_F(ObserverTest, RowsOfMemory_CountAsLongAsCudaMakesThem) {
  for (const char* way : {"pitch", "runtimepitch"}) {
    memset(shared_, 0, sizeof(ObservedDevices));
    EXPECT_EQ(Run(way), "0 0 0\n");
    EXPECT_EQ(shared_->devices[0].peak_bytes, 640) << "two rows and three of 128";
    EXPECT_EQ(shared_->devices[0].held_bytes, 0);
  }
}

TEST_F(ObserverTest, RowsThatGrowAboveTheBudget_AreRefusedAndGivenBack) {
  shared_->devices[0].budget_bytes = 600;  // 256, and 300 that become 384.
  EXPECT_EQ(Run("pitch"), "0 0 2\n");
  EXPECT_EQ(shared_->devices[0].held_bytes, 0);
  EXPECT_EQ(shared_->devices[0].refusals, 1);
}

TEST_F(ObserverTest, TwoDevices_AreCountedApartWhateverTheirOrder) {
  for (const char* way : {"switched", "created"}) {
    memset(shared_, 0, sizeof(ObservedDevices));
    shared_->count = 2;
    memset(shared_->uuids[0], 8, sizeof(shared_->uuids[0]));
    memset(shared_->uuids[1], 7, sizeof(shared_->uuids[1]));
    shared_->devices[0].budget_bytes = 899;
    EXPECT_EQ(Run(way), "0 0 2\n");
    EXPECT_EQ(shared_->devices[1].peak_bytes, 300);
    EXPECT_EQ(shared_->devices[1].processes, 1);
    EXPECT_EQ(shared_->devices[0].peak_bytes, 400);
    EXPECT_EQ(shared_->devices[0].refused_bytes, 500);
  }
}

TEST_F(ObserverTest, DeviceThatIsNotOfTheTrial_IsLeftAlone) {
  shared_->count = 2;
  memset(shared_->uuids[0], 7, sizeof(shared_->uuids[0]));
  memset(shared_->uuids[1], 99, sizeof(shared_->uuids[1]));
  EXPECT_EQ(Run("switched"), "0 0 0\n");
  EXPECT_EQ(shared_->devices[0].peak_bytes, 300);
  EXPECT_EQ(shared_->devices[1].peak_bytes, 0);
}

TEST_F(ObserverTest, OutOfMemoryError_CountsWhereItGetsAsFarAsPython) {
  // As installed for Python.
  const std::string folder = ::testing::TempDir() + "/python3";
  std::filesystem::create_directory_symlink(std::filesystem::absolute("autobatch/observer"),
                                            folder);
  const std::string program = folder + "/throwing_program autobatch/observer/libpythonfake.so ";
  Run("own", program);
  EXPECT_EQ(shared_->python_errors, 0) << "C++ has another way";
  Run("other", program);
  EXPECT_EQ(shared_->python_errors, 0) << "another error";
  Run("python", program);
  EXPECT_EQ(shared_->python_errors, 1);
}

TEST_F(ObserverTest, ProgramWithoutCuda_IsLeftAlone) {
  const std::string command = std::string(kObserverFileVariable) + "='" + path_ +
                              "' LD_PRELOAD=$PWD/autobatch/observer/libobserver.so python3 -c "
                              "'import ctypes, hashlib, json; print(1)'";
  EXPECT_EQ(system(command.c_str()), 0);
  EXPECT_EQ(shared_->devices[0].processes, 0);
}

}  // namespace
}  // namespace autobatch::observer
