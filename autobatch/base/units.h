#ifndef AUTOBATCH_BASE_UNITS_H_
#define AUTOBATCH_BASE_UNITS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

inline constexpr int64_t kKiB = int64_t{1} << 10;
inline constexpr int64_t kMiB = int64_t{1} << 20;
inline constexpr int64_t kGiB = int64_t{1} << 30;

// Reads "2GiB", "512 MiB", "1.5g", "800MB", "4096": bytes. KiB/MiB/GiB/TiB and k/m/g/t are powers
// of 1024, KB/MB/GB/TB of 1000. InvalidArgument on anything else, on a negative size and on
// overflow.
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);

// "1.50 GiB", "512.0 MiB", "17 B": for people.
std::string FormatBytes(int64_t bytes);

// "1,234,567": for people.
std::string FormatCount(int64_t count);

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_UNITS_H_
