#include "tests/vectors/visible_devices_form.h"

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "autobatch/device/visible_devices.h"
#include "autobatch/simcuda/visible.h"

namespace autobatch {
namespace {

struct VisibleDevicesVector {
  std::optional<std::string> cuda_visible_devices;
  std::vector<std::string> physical_uuids;
  std::vector<int64_t> visible_ordinals;
};
BOOST_DESCRIBE_STRUCT(VisibleDevicesVector, (),
                      (cuda_visible_devices, physical_uuids, visible_ordinals))

absl::StatusOr<Differences> Check(const boost::json::object& line) {
  AB_ASSIGN_OR_RETURN(const VisibleDevicesVector vector, ReadVector<VisibleDevicesVector>(line));
  std::vector<PhysicalDevice> physical;
  physical.reserve(vector.physical_uuids.size());
  for (const std::string& uuid : vector.physical_uuids) physical.push_back({.uuid = uuid});
  std::optional<absl::string_view> value;
  if (vector.cuda_visible_devices.has_value()) value = *vector.cuda_visible_devices;
  std::vector<int64_t> ordinals;
  for (const VisibleDevice& device : ResolveVisible(value, physical).devices) {
    ordinals.push_back(static_cast<int64_t>(device.physical));
  }
  Differences differences;
  differences.Expect("visible_ordinals", vector.visible_ordinals, ordinals);

  // The simulated driver reads the variable by itself: a second opinion on every vector.
  std::vector<simcuda::SelectableGpu> gpus;
  gpus.reserve(vector.physical_uuids.size());
  for (const std::string& uuid : vector.physical_uuids) gpus.push_back({.uuid = uuid});
  std::vector<int64_t> simulated;
  for (const simcuda::SelectedDevice& device :
       simcuda::SelectVisible(vector.cuda_visible_devices, gpus)) {
    simulated.push_back(static_cast<int64_t>(device.gpu));
  }
  differences.Expect("simulated visible_ordinals", vector.visible_ordinals, simulated);
  return differences;
}

}  // namespace

Form VisibleDevicesForm() {
  return {[](const boost::json::object& line) { return line.contains("visible_ordinals"); }, Check};
}

}  // namespace autobatch
