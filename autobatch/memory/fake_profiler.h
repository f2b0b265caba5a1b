#ifndef AUTOBATCH_MEMORY_FAKE_PROFILER_H_
#define AUTOBATCH_MEMORY_FAKE_PROFILER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autobatch/memory/seed.h"

namespace autobatch {

// Answers with given numbers, and keeps what it was asked (a FunctionRef wants a const call).
struct FakeProfiler {
  // Of the first sizes; cut to what is asked for.
  std::vector<std::optional<double>> memory;
  absl::Status status;
  std::vector<LogLine> log;
  mutable std::optional<ProfileRequest> asked;

  Profile operator()(const ProfileRequest& request) const {
    asked = request;
    Profile profile = {status, memory, log};
    if (profile.memory.size() > request.batch_sizes.size()) {
      profile.memory.resize(request.batch_sizes.size());
    }
    return profile;
  }
};

inline std::vector<std::string> Texts(const SeedAnswer& answer) {
  std::vector<std::string> texts;
  texts.reserve(answer.log.size());
  for (const LogLine& line : answer.log) texts.push_back(line.text);
  return texts;
}

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_FAKE_PROFILER_H_
