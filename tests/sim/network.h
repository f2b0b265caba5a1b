#ifndef TESTS_SIM_NETWORK_H_
#define TESTS_SIM_NETWORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "tests/sim/doorway.h"
#include "tests/sim/virtual_time.h"

namespace autobatch::sim {

using Random = std::mt19937_64;

// A whole number of [low, high]. Written out, because the library's distributions differ between
// libraries and a seed is to replay everywhere.
int64_t Pick(Random& random, int64_t low, int64_t high);
absl::Duration PickDuration(Random& random, absl::Duration low, absl::Duration high);
bool Chance(Random& random, int percent);

class Network;

// One end of a connection, held by the program at that end. Bytes arrive in order and in pieces, or
// not at all.
class Endpoint {
 public:
  std::function<void(absl::string_view)> on_bytes;
  std::function<void(const std::string&)> on_closed;

  void Send(absl::string_view bytes);
  // After what was sent.
  void Close();
  // As when the program is killed: what is on its way may be cut anywhere.
  void Cut();

  // The program at this end has read so much of what arrived.
  void Took(size_t bytes);
  // What was sent from this end and not read at the other, and how much has been read there.
  size_t unread() const { return unread_; }
  uint64_t read() const { return read_; }

 private:
  friend class Network;
  struct Item {
    std::string bytes;
    bool closes = false;
    bool lost = false;
  };

  void Put(Item item);
  void Arrive(std::shared_ptr<Item> item);

  Network* network_ = nullptr;
  // Of this end and of the other one.
  int host_ = 0;
  std::weak_ptr<Endpoint> peer_;
  bool sending_ = true;
  size_t unread_ = 0;
  uint64_t read_ = 0;
  SteadyTime last_arrival_;
  std::vector<std::weak_ptr<Item>> under_way_;
  // At the receiving end: arrived while the way was blocked, as TCP would send it again later.
  std::deque<std::shared_ptr<Item>> held_;
};

// The cluster's network: agents' hosts are 1, 2, …, the coordinator's is 0.
class Network {
 public:
  static constexpr int kCoordinator = 0;

  Network(VirtualTime& time, Random& random)
      : time_(time), random_(random), doorway_(time, /*places=*/256) {}

  // Before the coordinator: who has not proved himself yet.
  Doorway& doorway() { return doorway_; }

  // Bytes that the kernels take for a peer that does not read.
  size_t window = size_t{256} << 10;

  // What the coordinator does with a new peer; empty: nobody listens.
  std::function<void(const std::shared_ptr<Endpoint>&)> accept;
  // What a peer must know to be let in: the network does what TLS does for the real programs.
  std::string secret;
  // A sabotaged network lets anybody in.
  bool checks_secret = true;

  // Tells `done` after the handshake, or why there is none: Unavailable, DeadlineExceeded or
  // PermissionDenied.
  using Connected = std::function<void(absl::StatusOr<std::shared_ptr<Endpoint>>)>;
  void Connect(int host, const std::string& its_secret, const Connected& done);

  // Stops what host `from` sends to host `to`, in both cases until Heal.
  void Block(int from, int to);
  void Heal();
  bool blocked(int from, int to) const;
  // The range of delays of everything sent from now on.
  void SetDelay(absl::Duration low, absl::Duration high);

 private:
  friend class Endpoint;

  VirtualTime& time_;
  Random& random_;
  absl::Duration low_ = absl::Microseconds(50);
  absl::Duration high_ = absl::Milliseconds(5);
  std::map<std::pair<int, int>, bool> blocked_;
  std::vector<std::weak_ptr<Endpoint>> endpoints_;
  Doorway doorway_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_NETWORK_H_
