#ifndef AUTOBATCH_TRIAL_GUARD_REPORT_H_
#define AUTOBATCH_TRIAL_GUARD_REPORT_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

// What the guard and the parent agree on.
//
//   guard GRACE_MS COMMAND [ARGUMENT...]
//
// with its descriptors as below; everything else that is open in it is for the command.
namespace autobatch {

// Read end of a pipe to the parent: its end of file is the order to end the command, so that a
// parent that dies of whatever has given it.
inline constexpr int kGuardControlFd = 3;
// One GuardReport as a JSON line, once the command and all its descendants are gone.
inline constexpr int kGuardReportFd = 4;
// First descriptor that the command inherits, besides 0, 1 and 2.
inline constexpr int kFirstCommandFd = 5;

struct GuardReport {
  // Why the command could not be executed (errno), else 0.
  int64_t start_errno = 0;
  // As wait(2) gives it.
  int64_t wait_status = 0;
  // The guard was told to end it.
  bool ended = false;
  // Of the command and its descendants: greatest resident size of one process; processor time of
  // all.
  int64_t max_rss_bytes = 0;
  double user_ms = 0;
  double system_ms = 0;
  // Processes that the command, ended by itself, left running: "name (pid 12)", eight at most. They
  // were given a moment to end too, and killed then.
  std::vector<std::string> left;
};
BOOST_DESCRIBE_STRUCT(GuardReport, (),
                      (start_errno, wait_status, ended, max_rss_bytes, user_ms, system_ms, left))

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_GUARD_REPORT_H_
