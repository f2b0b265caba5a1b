#include "autobatch/probe/result_cache.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/version.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

constexpr char kSchema[] = "autobatch.cache_entry.v1";

// FNV-1a: names the file; whether it is the right one is decided by the whole key inside it.
uint64_t Fingerprint(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Size and time of a file; empty for what is none.
std::string StampOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  const auto size = std::filesystem::file_size(path, error);
  const auto time = std::filesystem::last_write_time(path, error);
  return error ? "" : absl::StrCat(size, "@", time.time_since_epoch().count());
}

std::string Stamp(const WorkloadSpec& workload) {
  switch (workload.kind) {
    case WorkloadKind::kBuiltIn:
      return "";
    case WorkloadKind::kTorchScript:
      return StampOf(workload.name);
    case WorkloadKind::kCommand:
      break;
  }
  // The files that it names (its script, its settings), and where it runs: the same words elsewhere
  // are another command. What those files import is not seen; the verifying trial is.
  std::error_code ignored;
  std::string stamp = std::filesystem::absolute(ResolveUserPath("."), ignored).string();
  for (const std::string& argument : workload.command) {
    absl::StrAppend(&stamp, ";", StampOf(ResolveUserPath(argument)));
  }
  return stamp;
}

}  // namespace

CacheKey MakeCacheKey(const ProbeSpec& spec, const Device& device,
                      const std::string& driver_version, const std::string& libtorch_version,
                      int64_t devices) {
  CacheKey key{.device_uuid = device.uuid,
               .device_name = device.name,
               .total_bytes = device.memory.total_bytes,
               .driver_version = driver_version,
               .autobatch_version = kVersion,
               .libtorch_version = libtorch_version,
               .workload = WorkloadFor(spec, device)};
  key.workload_stamp = Stamp(key.workload);
  key.settings = absl::StrCat(
      "memory_limit=", spec.memory_limit_bytes.value_or(0),
      " headroom=", spec.headroom_bytes.value_or(-1), "/", spec.headroom_fraction.value_or(-1),
      " communicator=", spec.communicator_bytes.value_or(-1), " max_batch=", spec.max_batch,
      " dataset=", spec.dataset_size.value_or(0), " world=", WorldSize(spec, devices),
      " tolerance=", spec.tolerance, " multiple_of=", spec.multiple_of,
      " power_of_two=", spec.power_of_two, " knee=", spec.throughput_knee,
      " accumulation=", spec.accumulation, " steps=", spec.explore_steps, "/", spec.confirm_steps);
  return key;
}

std::string ResultCache::DefaultDirectory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return absl::StrCat(cache, "/autobatch/results");
  }
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : absl::StrCat(home, "/.cache/autobatch/results");
}

std::string ResultCache::PathFor(const CacheKey& key) const {
  return absl::StrFormat("%s/%016x.json", directory_, Fingerprint(ToJson(key)));
}

absl::StatusOr<FirstGuess> ResultCache::Find(const CacheKey& key) const {
  const std::string path = PathFor(key);
  AB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const absl::StatusOr<CacheEntry> entry = FromJson<CacheEntry>(text);
  if (!entry.ok() || entry->schema != kSchema || entry->answer.batch <= 0) {
    return absl::DataLossError(
        absl::StrCat("the cached answer in ", path, " is damaged",
                     entry.ok() ? "" : absl::StrCat(" (", entry.status().message(), ")"),
                     "; it is ignored and will be replaced"));
  }
  if (ToJson(entry->key) != ToJson(key)) {
    return absl::NotFoundError(absl::StrCat(path, " answers another question"));
  }
  return entry->answer;
}

absl::Status ResultCache::Store(const CacheKey& key, const FirstGuess& answer) const {
  return WriteFileAtomically(PathFor(key), ToPrettyJson(CacheEntry{kSchema, key, answer}));
}

}  // namespace autobatch
