#include "tests/sim/network.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autobatch::sim {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(10);

}  // namespace

int64_t Pick(Random& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

absl::Duration PickDuration(Random& random, absl::Duration low, absl::Duration high) {
  return absl::Microseconds(
      Pick(random, absl::ToInt64Microseconds(low), absl::ToInt64Microseconds(high)));
}

bool Chance(Random& random, int percent) { return Pick(random, 1, 100) <= percent; }

void Endpoint::Send(absl::string_view bytes) {
  if (sending_) unread_ += bytes.size();
  // In up to three pieces, cut anywhere.
  while (!bytes.empty()) {
    const size_t size =
        static_cast<size_t>(Pick(network_->random_, 1, static_cast<int64_t>(bytes.size())));
    const size_t piece = Chance(network_->random_, 60) ? bytes.size() : size;
    Put({.bytes = std::string(bytes.substr(0, piece))});
    bytes.remove_prefix(piece);
  }
}

void Endpoint::Close() { Put({.closes = true}); }

void Endpoint::Took(size_t bytes) {
  const std::shared_ptr<Endpoint> peer = peer_.lock();
  if (peer == nullptr) return;
  peer->unread_ -= bytes;
  peer->read_ += bytes;
}

void Endpoint::Cut() {
  for (const std::weak_ptr<Item>& way : under_way_) {
    const std::shared_ptr<Item> item = way.lock();
    if (item == nullptr || !Chance(network_->random_, 50)) continue;
    // From here on nothing arrives.
    bool behind = false;
    for (const std::weak_ptr<Item>& other : under_way_) {
      const std::shared_ptr<Item> late = other.lock();
      behind = behind || late == item;
      if (late != nullptr && behind) late->lost = true;
    }
    break;
  }
  Put({.closes = true});
}

void Endpoint::Put(Item item) {
  if (!sending_) return;
  sending_ = !item.closes;
  const std::shared_ptr<Endpoint> peer = peer_.lock();
  if (peer == nullptr) return;
  auto shared = std::make_shared<Item>(std::move(item));
  std::erase_if(under_way_, [](const std::weak_ptr<Item>& way) { return way.expired(); });
  under_way_.push_back(shared);
  VirtualTime& time = network_->time_;
  last_arrival_ =
      std::max(last_arrival_,
               Add(time.Now(), PickDuration(network_->random_, network_->low_, network_->high_)));
  time.At(last_arrival_, [peer, shared] { peer->Arrive(shared); });
}

void Endpoint::Arrive(std::shared_ptr<Item> item) {
  const std::shared_ptr<Endpoint> peer = peer_.lock();
  if (!held_.empty() || (peer != nullptr && network_->blocked(peer->host_, host_))) {
    held_.push_back(std::move(item));
    return;
  }
  if (item->lost) return;
  if (item->closes) {
    if (on_closed) on_closed("the peer has closed the connection");
    on_bytes = nullptr;
    on_closed = nullptr;
  } else if (on_bytes) {
    on_bytes(item->bytes);
  }
}

void Network::Connect(int host, const std::string& its_secret, const Connected& done) {
  if (blocked(host, kCoordinator) || blocked(kCoordinator, host)) {
    time_.After(kConnectTimeout,
                [done] { done(absl::DeadlineExceededError("no answer within 10 s")); });
    return;
  }
  const auto inside = [this, host, its_secret, done] {
    if (!accept) return done(absl::UnavailableError("connection refused"));
    if (checks_secret && its_secret != secret) {
      return done(absl::PermissionDeniedError("the handshake failed"));
    }
    auto near = std::make_shared<Endpoint>();
    auto far = std::make_shared<Endpoint>();
    near->network_ = far->network_ = this;
    near->host_ = host;
    far->host_ = kCoordinator;
    near->peer_ = far;
    far->peer_ = near;
    endpoints_.push_back(near);
    endpoints_.push_back(far);
    accept(far);
    done(near);
  };
  const auto outside = [done] { done(absl::UnavailableError("turned away: too many at once")); };
  doorway_.Enter(absl::StrCat("10.0.0.", host), PickDuration(random_, low_ * 3, high_ * 3), inside,
                 outside);
}

void Network::Block(int from, int to) { blocked_[{from, to}] = true; }

bool Network::blocked(int from, int to) const {
  const auto found = blocked_.find({from, to});
  return found != blocked_.end() && found->second;
}

void Network::Heal() {
  blocked_.clear();
  std::erase_if(endpoints_, [](const std::weak_ptr<Endpoint>& end) { return end.expired(); });
  for (const std::weak_ptr<Endpoint>& weak : std::vector(endpoints_)) {
    const std::shared_ptr<Endpoint> end = weak.lock();
    if (end == nullptr) continue;
    for (std::shared_ptr<Endpoint::Item>& item : std::exchange(end->held_, {})) {
      end->Arrive(std::move(item));
    }
  }
}

void Network::SetDelay(absl::Duration low, absl::Duration high) {
  low_ = low;
  high_ = high;
}

}  // namespace autobatch::sim
