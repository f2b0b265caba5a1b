#ifndef TESTS_SIM_REDUCE_BOARD_H_
#define TESTS_SIM_REDUCE_BOARD_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace autobatch::sim {

// What NCCL does for a cluster: an all-reduce that ends for everybody when the last rank has come,
// and for nobody before. One entry an id.
class ReduceBoard {
 public:
  using Done = std::function<void(int64_t minimum)>;

  // `ranks` ranks of `world` bring their minimum.
  void Join(const std::string& id, int64_t ranks, int64_t world, int64_t minimum, Done done) {
    Attempt& attempt = attempts_[id];
    attempt.minimum = attempt.done.empty() ? minimum : std::min(attempt.minimum, minimum);
    attempt.ranks += ranks;
    attempt.done.push_back(std::move(done));
    if (attempt.ranks < world) return;
    for (const Done& tell : attempt.done) tell(attempt.minimum);
    attempt.done.clear();
  }

 private:
  struct Attempt {
    int64_t ranks = 0;
    int64_t minimum = 0;
    std::vector<Done> done;
  };
  std::map<std::string, Attempt> attempts_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_REDUCE_BOARD_H_
