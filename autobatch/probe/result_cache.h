#ifndef AUTOBATCH_PROBE_RESULT_CACHE_H_
#define AUTOBATCH_PROBE_RESULT_CACHE_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/probe/device_probe.h"
#include "autobatch/probe/probe_spec.h"
#include "autobatch/types/device.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// Everything that an answer depends on. Two keys are the same if their JSON is.
struct CacheKey {
  std::string device_uuid;
  std::string device_name;
  std::optional<int64_t> total_bytes;
  std::string driver_version;
  std::string autobatch_version;
  std::string libtorch_version;
  WorkloadSpec workload;
  // A TorchScript file's size and time of change: the path alone does not say what is in it.
  std::string workload_stamp;
  // The settings that move the answer, as text.
  std::string settings;
};
BOOST_DESCRIBE_STRUCT(CacheKey, (),
                      (device_uuid, device_name, total_bytes, driver_version, autobatch_version,
                       libtorch_version, workload, workload_stamp, settings))

struct CacheEntry {
  std::string schema;
  CacheKey key;
  FirstGuess answer;
};
BOOST_DESCRIBE_STRUCT(CacheEntry, (), (schema, key, answer))

CacheKey MakeCacheKey(const ProbeSpec& spec, const Device& device,
                      const std::string& driver_version, const std::string& libtorch_version,
                      int64_t devices);

// Earlier answers, a file each. An answer from here is a first guess that is run once more, never
// an answer by itself. Safe between processes: files are replaced whole.
class ResultCache {
 public:
  explicit ResultCache(std::string directory) : directory_(std::move(directory)) {}

  // $XDG_CACHE_HOME/autobatch/results, else below $HOME/.cache; empty when neither is set.
  static std::string DefaultDirectory();

  // The answer kept under this very key; NotFound if there is none; DataLoss, naming the file, if
  // it is damaged (the next Store replaces it).
  absl::StatusOr<FirstGuess> Find(const CacheKey& key) const;

  // Keeps an answer. The error names the file (read-only folder, full disk).
  absl::Status Store(const CacheKey& key, const FirstGuess& answer) const;

  std::string PathFor(const CacheKey& key) const;

 private:
  std::string directory_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_RESULT_CACHE_H_
