#include "tools/signal_watcher.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "autobatch/base/scratch_folder.h"

namespace autobatch {
namespace {

// SIGUSR2 wakes the watcher to its end.
constexpr int kWatched[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kWatched) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalWatcher::SignalWatcher() {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t set = Watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { Watch(); });
}

SignalWatcher::~SignalWatcher() {
  stopping_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

void SignalWatcher::OnSignal(std::function<void(int)> callback) {
  MutexLock lock(mutex_);
  callback_ = std::move(callback);
}

void SignalWatcher::Watch() {
  const sigset_t set = Watched();
  while (true) {
    int signal = 0;
    sigwait(&set, &signal);
    if (stopping_) return;
    if (signal == SIGUSR2) continue;
    MutexLock lock(mutex_);
    if (received_ == 0 && callback_ == nullptr) ScratchFolder::RemoveAll();
    if (received_ != 0 || callback_ == nullptr) _exit(128 + signal);
    received_ = signal;
    callback_(signal);
  }
}

}  // namespace autobatch
