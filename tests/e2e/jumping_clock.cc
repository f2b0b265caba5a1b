// Preloaded: the wall clock stands an hour ahead in one second and an hour behind in the next, as
// for an operator who cannot make up their mind. The steady clock is left alone.

#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

namespace {

constexpr time_t kHour = 3600;

using ClockGettime = int (*)(clockid_t, timespec*);

int Real(clockid_t clock, timespec* time) {
  static const auto real = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
  return real(clock, time);
}

time_t Jump() {
  timespec steady{};
  Real(CLOCK_MONOTONIC, &steady);
  return steady.tv_sec % 2 == 0 ? kHour : -kHour;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* result) {
  const int status = Real(clock, result);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    result->tv_sec += Jump();
  }
  return status;
}

int gettimeofday(timeval* result, void*) {
  timespec now{};
  const int status = clock_gettime(CLOCK_REALTIME, &now);
  result->tv_sec = now.tv_sec;
  result->tv_usec = now.tv_nsec / 1000;
  return status;
}

time_t time(time_t* result) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
