#include "orchestrator/launch/signal_relay.h"

#include <signal.h>

#include <utility>

namespace autobatch {
namespace {

// Wakes the thread at the end; nobody else sends it.
constexpr int kWakeSignal = SIGURG;

sigset_t SetOf(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

const std::vector<int>& SignalRelay::Signals() {
  static const auto* const signals =
      new std::vector<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  return *signals;
}

SignalRelay::SignalRelay() {
  signal(SIGPIPE, SIG_IGN);
  std::vector<int> blocked = Signals();
  blocked.push_back(kWakeSignal);
  const sigset_t set = SetOf(blocked);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { Run(); });
}

SignalRelay::~SignalRelay() {
  stopping_ = true;
  pthread_kill(thread_.native_handle(), kWakeSignal);
  thread_.join();
}

void SignalRelay::SetHandler(std::function<void(int)> handler) {
  MutexLock lock(mutex_);
  handler_ = std::move(handler);
  if (handler_ == nullptr) return;
  for (const int signal : std::exchange(kept_, {})) handler_(signal);
}

void SignalRelay::Deliver(int signal) {
  if (signal != SIGUSR1 && signal != SIGUSR2) ending_ = signal;
  MutexLock lock(mutex_);
  if (handler_ != nullptr) {
    handler_(signal);
  } else {
    kept_.push_back(signal);
  }
}

void SignalRelay::Run() {
  std::vector<int> waited_for = Signals();
  waited_for.push_back(kWakeSignal);
  const sigset_t set = SetOf(waited_for);
  while (!stopping_) {
    int signal = 0;
    if (sigwait(&set, &signal) == 0 && signal != kWakeSignal) Deliver(signal);
  }
}

}  // namespace autobatch
