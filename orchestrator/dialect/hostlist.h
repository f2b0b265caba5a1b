#ifndef ORCHESTRATOR_DIALECT_HOSTLIST_H_
#define ORCHESTRATOR_DIALECT_HOSTLIST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// Far above any cluster, and small enough for a list that an attacker wrote.
inline constexpr size_t kMostHosts = 65'536;

// Expands Slurm's notation, in order and with repetitions:
//   "n[01-03,5]-ib[0-1],login" -> n01-ib0 n01-ib1 n02-ib0 ... n5-ib1 login
// A leading zero of a range's start fixes the width of its numbers. Items are separated by commas
// or white space. Several bracket groups multiply, the last one running fastest (of three or more,
// Slurm 22 runs the first fastest; the first host is the same). More is taken than Slurm takes:
// text behind the last group. InvalidArgument, with the position: unbalanced or nested brackets, an
// empty or descending range, no number. ResourceExhausted: more than `most` hosts, found before any
// is made.
absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view text,
                                                        size_t most = kMostHosts);

// Slurm's counts for each node: "2(x3),1" -> 2 2 2 1. Errors as above.
absl::StatusOr<std::vector<int64_t>> ExpandTaskCounts(absl::string_view text,
                                                      size_t most = kMostHosts);

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_HOSTLIST_H_
