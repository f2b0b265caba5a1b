#ifndef ORCHESTRATOR_NET_REFUSAL_LOG_H_
#define ORCHESTRATOR_NET_REFUSAL_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"

namespace autobatch {

// Why somebody was not let in. The peer learns none of it: to it, all look the same.
enum class Refusal {
  kSilent,         // Connected and went away, as a port scan or `nc -z` does.
  kForeign,        // Spoke another protocol, or ours without TLS.
  kSlow,           // Had not finished its handshake, or not sent its first frame, in time.
  kCrowded,        // Gave way to others: too many handshakes at once.
  kWrongRun,       // Knows of another run.
  kWrongRole,      // Is not an agent.
  kWrongSecret,    // Has another secret.
  kNoCertificate,  // Showed no certificate, or one that our CA did not sign or that is not for
                   // this.
  kProtocol,       // Broke off or broke the rules of TLS.
};
inline constexpr size_t kRefusals = 9;

absl::string_view RefusalName(Refusal refusal);

// Text of a stranger, fit for one line of a log: control and non-ASCII bytes escaped, cut to 200
// bytes.
std::string EscapeForLog(absl::string_view text);

// Lines about refused peers: the first few of each kind as they come, then one in a while that says
// how many there were meanwhile. A scan of a thousand ports is a handful of lines. Pure.
class RefusalLog {
 public:
  static constexpr int kBurst = 3;
  static constexpr absl::Duration kPause = absl::Seconds(10);

  // `log` takes a finished line.
  explicit RefusalLog(std::function<void(absl::string_view)> log) : log_(std::move(log)) {}
  // Tells what was kept back.
  ~RefusalLog();
  RefusalLog(const RefusalLog&) = delete;
  RefusalLog& operator=(const RefusalLog&) = delete;

  // `peer` and `detail` are escaped.
  void Add(Refusal kind, absl::string_view peer, absl::string_view detail, SteadyTime now);

  // How many of a kind there were, logged or not.
  int64_t count(Refusal kind) const { return kinds_[static_cast<size_t>(kind)].count; }

 private:
  struct Kind {
    int64_t count = 0;
    int64_t kept_back = 0;
    // Lines that may still be written at once, and when there is the next otherwise.
    int burst = kBurst;
    SteadyTime quiet_until{};
  };

  std::function<void(absl::string_view)> log_;
  std::array<Kind, kRefusals> kinds_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_REFUSAL_LOG_H_
