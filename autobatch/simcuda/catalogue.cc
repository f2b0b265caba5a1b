#include "autobatch/simcuda/catalogue.h"

#include <algorithm>
#include <unordered_map>

#include "autobatch/simcuda/cards_csv.h"
#include "autobatch/simcuda/text.h"

namespace autobatch::simcuda {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::vector<Card> Read(std::string_view csv) {
  std::vector<std::string_view> lines = Split(csv, '\n');
  const std::vector<std::string_view> header = Split(lines.front(), ',');
  lines.erase(lines.begin());
  std::vector<Card> cards;
  for (const std::string_view line : lines) {
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = Split(line, ',');
    std::unordered_map<std::string_view, std::string_view> text;
    for (size_t i = 0; i < header.size() && i < fields.size(); ++i) text[header[i]] = fields[i];
    const auto number = [&](std::string_view column) { return ParseNumber(text[column]); };

    Card card;
    card.id = text["id"];
    card.name = text["name"];
    card.total = number("total_bytes").value_or(0);
    card.lowest_total = number("all_linux_min_bytes").value_or(card.total);
    card.highest_total = number("all_linux_max_bytes").value_or(card.total);
    const auto smi = number("nvidia_smi_mib");
    card.nvml_total = smi.has_value() ? *smi * kMiB : card.total;
    const std::vector<std::string_view> capability = Split(text["compute_capability"], '.');
    card.major = static_cast<int>(ParseNumber(capability.front()).value_or(0));
    card.minor = static_cast<int>(ParseNumber(capability.back()).value_or(0));
    card.multiprocessors = static_cast<int>(number("sm_count").value_or(0));
    card.l2 = number("l2_bytes").value_or(0);
    card.shared_per_block = number("smem_per_block_optin_bytes").value_or(0);
    card.shared_per_multiprocessor = number("smem_per_sm_bytes").value_or(0);
    card.threads_per_multiprocessor = static_cast<int>(number("max_threads_per_sm").value_or(0));
    card.context = number("context_bytes");
    cards.push_back(std::move(card));
  }
  return cards;
}

}  // namespace

const std::vector<Card>& Catalogue() {
  // Never destroyed: a preloaded program may ask for devices in its last destructor.
  static const auto* const cards = new std::vector<Card>(Read(kCardsCsv));
  return *cards;
}

const Card* FindCard(std::string_view id) {
  const std::vector<Card>& cards = Catalogue();
  const auto found =
      std::find_if(cards.begin(), cards.end(), [&](const Card& card) { return card.id == id; });
  return found == cards.end() ? nullptr : &*found;
}

std::string UnknownCard(std::string_view id) {
  std::vector<std::string> ids;
  for (const Card& card : Catalogue()) ids.push_back(card.id);
  return "unknown card '" + std::string(id) + "'; the nearest is '" + NearestName(id, ids) + "'";
}

}  // namespace autobatch::simcuda
