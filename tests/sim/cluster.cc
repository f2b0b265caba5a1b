// Whole clusters on virtual time, a seed each: what the cluster is and what happens to it.
//
//   ./bazelw run //tests/sim:cluster -- --seeds 10000 --first-seed 1
//   ./bazelw run //tests/sim:cluster -- --first-seed 4711 --log      one seed, with what was said
//   ./bazelw run //tests/sim:cluster -- --seeds 200 --without commit a protection taken out
//
// Exit status 0: every seed kept every promise; 1: a seed did not (each is printed); 2: usage.

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "autobatch/types/enum_names.h"
#include "tests/sim/chaos.h"

namespace autobatch::sim {
namespace {

constexpr char kUsage[] =
    "usage: cluster [--seeds N] [--first-seed S] [--without fencing|commit|lease|authentication] "
    "[--log]\n";

int Usage(absl::string_view wrong) {
  std::fprintf(stderr, "cluster: %s\n%s", std::string(wrong).c_str(), kUsage);
  return 2;
}

int Main(int argc, char** argv) {
  uint64_t seeds = 1;
  uint64_t first = 1;
  bool log = false;
  Sabotage sabotage = Sabotage::kNone;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    if (flag == "--help") return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
    if (flag == "--log") {
      log = true;
      continue;
    }
    if (++i == argc) return Usage(std::string(flag) + " needs a value");
    if (flag == "--seeds" || flag == "--first-seed") {
      uint64_t& number = flag == "--seeds" ? seeds : first;
      if (!absl::SimpleAtoi(argv[i], &number) || number == 0) {
        return Usage(std::string(flag) + " takes a whole number above 0, not " + argv[i]);
      }
    } else if (flag == "--without") {
      const absl::StatusOr<Sabotage> parsed = ParseEnum<Sabotage>("--without", argv[i]);
      if (!parsed.ok()) return Usage(parsed.status().message());
      sabotage = *parsed;
    } else {
      return Usage("there is no " + std::string(flag));
    }
  }

  uint64_t failed = 0;
  int64_t commits = 0;
  int64_t faults = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const ChaosOutcome outcome = RunChaos(seed, sabotage);
    commits += outcome.commits;
    faults += outcome.faults;
    if (log) std::printf("%s\n", outcome.log.c_str());
    if (outcome.violations.empty()) continue;
    ++failed;
    std::printf("seed %lu: %zu violations, the first: %s\n", static_cast<unsigned long>(seed),
                outcome.violations.size(), outcome.violations.front().c_str());
  }
  std::printf("%lu seeds from %lu: %lld faults, %lld rounds committed\n%lu passed, %lu failed\n",
              static_cast<unsigned long>(seeds), static_cast<unsigned long>(first),
              static_cast<long long>(faults), static_cast<long long>(commits),
              static_cast<unsigned long>(seeds - failed), static_cast<unsigned long>(failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace autobatch::sim

int main(int argc, char** argv) { return autobatch::sim::Main(argc, argv); }
