#ifndef AUTOBATCH_SEARCH_BRACKET_H_
#define AUTOBATCH_SEARCH_BRACKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "autobatch/memory/envelope.h"
#include "autobatch/types/report.h"

namespace autobatch {

// What trials have proven: which batches ran, which one is the smallest that did not, and which was
// confirmed. "Fits" has holes near the limit, so a failure counts for every larger batch too, also
// for one that ran before: the answer must be safe below itself.
class Bracket {
 public:
  struct Ran {
    int64_t batch = 0;
    // What it needs: of the reserved peak, what is not cache.
    int64_t peak_bytes = 0;
    // Samples per second; 0 where no time was observed.
    double rate = 0;
  };
  struct Ceiling {
    int64_t batch = 0;
    // What keeps it from running.
    BatchBound bound = BatchBound::kMemory;
  };

  void AddRan(const Ran& ran);
  void AddFailed(int64_t batch, BatchBound bound);
  // `ran` in its full confirming setting, as trial number `index`.
  void AddConfirmed(const Ran& ran, size_t index);
  // It ran, but under circumstances that hold no longer.
  void DropConfirmed();

  // The largest that ran below the ceiling; nullopt: none.
  std::optional<Ran> Largest() const;
  const std::optional<Ceiling>& ceiling() const { return ceiling_; }
  const std::optional<Ran>& confirmed() const { return confirmed_; }
  std::optional<size_t> confirmed_index() const { return confirmed_index_; }
  // Failures since the last batch that ran.
  int64_t failures_in_a_row() const { return failures_in_a_row_; }
  // Whether a batch ran after one had failed.
  bool ran_below_ceiling() const { return ran_below_ceiling_; }

  // Every batch that ran once, ascending, with the greatest peak that it showed.
  const std::vector<Ran>& ran() const { return ran_; }
  // Of those, the ones to fit a line to: neighbours that lie so close together that their
  // difference is noise are left out, the larger one stays.
  std::vector<MemoryPoint> Points() const;

 private:
  std::vector<Ran> ran_;
  std::optional<Ceiling> ceiling_;
  std::optional<Ran> confirmed_;
  std::optional<size_t> confirmed_index_;
  int64_t failures_in_a_row_ = 0;
  bool ran_below_ceiling_ = false;
};

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_BRACKET_H_
