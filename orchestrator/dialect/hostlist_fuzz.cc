// Any text is answered within the limit, and what it expands to is a list of the same hosts.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "orchestrator/dialect/hostlist.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr size_t kMost = 1000;
  const auto counts = autobatch::ExpandTaskCounts(text, kMost);
  if (counts.ok() && counts->size() > kMost) abort();
  const auto hosts = autobatch::ExpandHostlist(text, kMost);
  if (!hosts.ok()) return 0;
  if (hosts->size() > kMost) abort();
  const auto again = autobatch::ExpandHostlist(absl::StrJoin(*hosts, ","), kMost);
  if (!again.ok() || *again != *hosts) abort();
  return 0;
}
