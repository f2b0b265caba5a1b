#include "autobatch/simcuda/mig.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "autobatch/simcuda/text.h"

namespace autobatch::simcuda {
namespace {

constexpr uint64_t kEighths = 8;
// CUDA reports totals in multiples of 64 KiB.
constexpr uint64_t kTotalGranularity = 64 << 10;

// A profile's compute slices and eighths of memory.
struct Profile {
  uint64_t compute;
  uint64_t eighths;
};
constexpr Profile kOfSevenSlices[] = {{1, 1}, {1, 2}, {2, 2}, {3, 4}, {4, 4}, {7, 8}};
constexpr Profile kOfFourSlices[] = {{1, 2}, {2, 4}, {4, 8}};

bool HasFourSlices(const Card& card) {
  return card.id == "a30" || card.id.starts_with("pro6000-blackwell");
}

bool HasMig(const Card& card) {
  // A100 and A30, H100 to H200, B200 and B300; of the workstation's cards one.
  switch (card.compute_capability()) {
    case 80:
    case 90:
    case 100:
    case 103:
      return true;
    default:
      return HasFourSlices(card);
  }
}

// The gigabytes by which the profiles of such a card are named: above what CUDA reports of it.
double NominalGigabytes(const Card& card) {
  const double gibibytes = static_cast<double>(card.total) / (uint64_t{1} << 30);
  for (const double nominal : {24.0, 40.0, 80.0, 96.0, 141.0, 180.0}) {
    if (gibibytes <= nominal && gibibytes > 0.97 * nominal) return nominal;
  }
  return gibibytes;
}

std::string NameOf(const Profile& profile, const Card& card) {
  const double gigabytes = NominalGigabytes(card) * static_cast<double>(profile.eighths) / kEighths;
  return std::to_string(profile.compute) + "g." + std::to_string(std::lround(gigabytes)) + "gb";
}

MigSlice MakeSlice(const Profile& profile, std::string_view name, const Card& whole) {
  MigSlice slice{.profile = std::string(name), .card = whole};
  Card& card = slice.card;
  card.name = whole.name + " MIG " + slice.profile;
  card.total = whole.total * profile.eighths / kEighths / kTotalGranularity * kTotalGranularity;
  card.lowest_total = card.highest_total = card.nvml_total = card.total;
  // 14 of an A100's 108 and of an A30's 56 multiprocessors make a slice, 16 of an H100's 132.
  const int per_slice =
      HasFourSlices(whole) ? whole.multiprocessors / 4 : 2 * (whole.multiprocessors / 15);
  card.multiprocessors = static_cast<int>(profile.compute) * std::max(1, per_slice);
  card.context.reset();
  return slice;
}

}  // namespace

MigSlices ParseMig(std::string_view text, const Card& card) {
  const auto quoted = [](std::string_view word) { return "'" + std::string(word) + "'"; };
  if (!HasMig(card)) {
    return {.error = "this card has no MIG; an a30, a100-80, h100-80, h200 or b200 has it"};
  }
  const bool four = HasFourSlices(card);
  const std::span<const Profile> profiles =
      four ? std::span<const Profile>(kOfFourSlices) : std::span<const Profile>(kOfSevenSlices);
  MigSlices result;
  uint64_t compute = 0;
  uint64_t eighths = 0;
  for (const std::string_view name : Split(text, '+')) {
    std::string names;
    const Profile* found = nullptr;
    for (const Profile& profile : profiles) {
      const std::string its_name = NameOf(profile, card);
      if (its_name == name) found = &profile;
      names += (names.empty() ? "" : ", ") + its_name;
    }
    if (found == nullptr) {
      return {.error = quoted(name) + " is no MIG profile of this card; it has " + names};
    }
    compute += found->compute;
    eighths += found->eighths;
    result.slices.push_back(MakeSlice(*found, name, card));
  }
  if (compute > (four ? 4 : 7) || eighths > kEighths) {
    return {.error = "the MIG instances " + quoted(text) + " do not fit on one GPU"};
  }
  return result;
}

}  // namespace autobatch::simcuda
