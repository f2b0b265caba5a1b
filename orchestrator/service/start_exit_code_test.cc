#include "orchestrator/service/start_exit_code.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "absl/status/status.h"

namespace autobatch {
namespace {

TEST(StartExitCodeTest, WhatTheUserHasToMend_IsTwoAndWhatTheMachineLacksIsOne) {
  EXPECT_EQ(StartExitCode(absl::OkStatus()), 0);
  for (const int error : {EACCES, EPERM, ENOENT, EEXIST, EINVAL, EISDIR}) {
    EXPECT_EQ(StartExitCode(absl::ErrnoToStatus(error, "a file")), 2) << error;
  }
  for (const int error : {ENOSPC, ENOMEM, EMFILE, EDQUOT, EIO}) {
    EXPECT_EQ(StartExitCode(absl::ErrnoToStatus(error, "a file")), 1) << error;
  }
}

}  // namespace
}  // namespace autobatch
