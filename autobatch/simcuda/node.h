#ifndef AUTOBATCH_SIMCUDA_NODE_H_
#define AUTOBATCH_SIMCUDA_NODE_H_

#include <memory>
#include <string>
#include <vector>

#include "autobatch/simcuda/device.h"
#include "autobatch/simcuda/faults.h"
#include "autobatch/simcuda/memory_model.h"
#include "autobatch/simcuda/shared_usage.h"

namespace autobatch::simcuda {

// A GPU of the node, as NVML knows it.
struct Gpu {
  std::unique_ptr<Device> device;
  // Not empty: in MIG mode.
  std::vector<std::unique_ptr<Device>> instances;
  // MIG profiles of the instances.
  std::vector<std::string> profiles;
};

// The simulated machine that the environment describes:
//
//   AUTOBATCH_SIM_DEVICES      the devices, see configuration.h; unset: none
//   AUTOBATCH_SIM_NODE         the node's name, by which devices are identified; default: the
//   host's AUTOBATCH_SIM_DRIVER       the CUDA version of the driver, such as 12.4; default: the
//   runtime's AUTOBATCH_SIM_SHARED       a folder by which processes see each other's use
//   AUTOBATCH_SIM_CALIBRATION  a file that replaces parts of the memory model
//   AUTOBATCH_SIM_FAULTS       faults on demand, see faults.h
//   CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER
//
// A description that cannot be read gives a node without devices, and its error is said once on
// stderr.
class Node {
 public:
  // The process's one node, read from the environment at the first call. Never destroyed.
  static Node& Get();

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // In the order of the bus.
  const std::vector<Gpu>& gpus() const { return gpus_; }
  // What CUDA shows, in CUDA's order.
  const std::vector<Device*>& visible() const { return visible_; }
  // The visible device of that number; null where there is none.
  Device* Visible(int ordinal) const;
  int OrdinalOf(const Device* device) const;
  // The visible device to which the address belongs; null for the host's.
  Device* OwnerOf(const void* address) const;

  const FaultPlan& faults() const { return faults_; }
  const MemoryModel& model() const { return model_; }
  // 13000 is 13.0.
  int driver_version() const { return driver_version_; }
  // "580.65.06"
  std::string DriverName() const;

 private:
  Node();

  void Fail(const std::string& why);
  void MakeGpus();
  void ReadFaults();
  void ReadModel();
  void ReadDriver();

  std::string name_;
  int driver_version_ = 0;
  FaultPlan faults_;
  MemoryModel model_;
  std::unique_ptr<SharedUsage> usage_;
  std::vector<Gpu> gpus_;
  std::vector<Device*> visible_;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_NODE_H_
