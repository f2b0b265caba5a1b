#ifndef AUTOBATCH_TESTS_VECTORS_REPLAY_FILE_H_
#define AUTOBATCH_TESTS_VECTORS_REPLAY_FILE_H_

#include <cstdint>
#include <ostream>
#include <string>

namespace autobatch {

struct ReplayCounts {
  int64_t passed = 0;
  int64_t failed = 0;
  // Files and lines that could not be replayed at all.
  int64_t unreadable = 0;
};

// Replays each line of a file of JSON objects, whose form it knows by its fields, and adds to the
// counts. Each difference goes to `out` with the vector's id, the field, what was expected and
// ours; what cannot be read goes to `error` as "file:line: why", and the other lines are still
// replayed. Empty lines are skipped; a file without vectors is unreadable.
void ReplayFile(const std::string& path, std::ostream& out, std::ostream& error,
                ReplayCounts& counts);

}  // namespace autobatch

#endif  // AUTOBATCH_TESTS_VECTORS_REPLAY_FILE_H_
