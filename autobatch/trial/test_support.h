#ifndef AUTOBATCH_TRIAL_TEST_SUPPORT_H_
#define AUTOBATCH_TRIAL_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace autobatch {

inline constexpr char kGuardPath[] = "autobatch/trial/guard";
inline constexpr char kTestChildPath[] = "autobatch/trial/test_child";
inline constexpr char kTestParentPath[] = "autobatch/trial/test_parent";

// Fails a test that leaves a descriptor open or any process alive: what loses its parent comes to
// this one.
class NothingLeftTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  std::vector<std::string> open_before_;
};

// A FIFO that children write their numbers to and hold open.
class Fifo {
 public:
  Fifo();
  ~Fifo();
  const std::string& path() const { return path_; }
  // Waits until `count` processes have written.
  std::vector<int> ReadPids(size_t count);
  // Waits until no process holds it.
  void WaitUntilReleased();

 private:
  std::string path_;
  int fd_ = -1;
  std::string text_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_TEST_SUPPORT_H_
