// cuDNN: the backend interface of version 9, by which the framework plans and runs convolutions and
// attention.

#include <cudnn.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "autobatch/simcuda/cudnn_descriptor.h"
#include "autobatch/simcuda/fault_injection.h"
#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/stream.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

// Two engines can run whatever is asked: the one that the heuristics name first, with a workspace,
// and one behind it without. It is the slower one.
constexpr int64_t kEngines = 2;
constexpr int64_t kEngineWithoutWorkspace = 1;
constexpr uint64_t kSlowerBy = 20'000'000;  // nanoseconds

std::mutex& DescriptorMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

// A plan's engine.
const Descriptor* EngineOf(const Descriptor& plan) {
  const Descriptor* const configuration = plan.Reference(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  return configuration == nullptr ? nullptr : configuration->Reference(CUDNN_ATTR_ENGINECFG_ENGINE);
}

bool NeedsWorkspace(const Descriptor& engine) {
  return engine.Number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) != kEngineWithoutWorkspace;
}

int64_t WorkspaceOf(const Descriptor& plan) {
  const Descriptor* const engine = EngineOf(plan);
  if (engine == nullptr || !NeedsWorkspace(*engine)) return 0;
  const Descriptor* const graph = engine->Reference(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  auto convolution = graph == nullptr ? std::nullopt : ConvolutionOf(*graph);
  const Device* const device = Node::Get().Visible(CurrentOrdinal());
  if (!convolution || device == nullptr) return 0;
  convolution->compute_capability = device->card().compute_capability();
  if (convolution->pass == ConvPass::kForward && !convolution->x.empty()) {
    SawBatch(convolution->x.front());
  }
  return static_cast<int64_t>(Node::Get().model().convolution.Workspace(*convolution));
}

// Fills the caller's engine configurations, best first.
int64_t Heuristics(const Descriptor& heuristics, int64_t room, void* values) {
  if (values == nullptr) return kEngines;
  const int64_t count = std::min(room, kEngines);
  Descriptor* const graph = heuristics.Reference(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  for (int64_t i = 0; i < count; ++i) {
    auto* const engine = new Descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    if (graph != nullptr) engine->SetReference(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *graph);
    engine->SetNumber(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, i);
    Descriptor* const configuration = static_cast<Descriptor**>(values)[i];
    configuration->SetReference(CUDNN_ATTR_ENGINECFG_ENGINE, *engine);
    engine->LetGo();
  }
  return count;
}

template <typename T>
int64_t Give(T value, int64_t room, void* values) {
  if (values != nullptr && room > 0) std::memcpy(values, &value, sizeof(value));
  return 1;
}

int64_t GiveText(const char* text, int64_t room, void* values) {
  const auto length = static_cast<int64_t>(std::strlen(text)) + 1;
  if (values != nullptr && room > 0) {
    std::memcpy(values, text, static_cast<size_t>(std::min(room, length)));
  }
  return length;
}

int64_t GetFromPlan(const Descriptor& plan, int name, int64_t room, void* values) {
  switch (name) {
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return Give(WorkspaceOf(plan), room, values);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
      return GiveText("{\"simulated\":true}", room, values);
    default:
      return plan.Get(name, room, values);
  }
}

int64_t GetFromConfiguration(const Descriptor& configuration, int name, int64_t room,
                             void* values) {
  if (name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE ||
      name == CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED) {
    return Give(int64_t{0}, room, values);
  }
  if (name != CUDNN_ATTR_ENGINECFG_ENGINE) return 0;
  // The caller passes an engine of its own to be filled.
  const Descriptor* const engine = configuration.Reference(name);
  if (values != nullptr && room > 0 && engine != nullptr) {
    static_cast<Descriptor**>(values)[0]->CopyFrom(*engine);
  }
  return 1;
}

}  // namespace

#define CUDNN SIMCUDA_EXPORT cudnnStatus_t

CUDNN cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                   cudnnBackendDescriptor_t* descriptor) {
  *descriptor = (new Descriptor(type))->handle();
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  const std::lock_guard lock(DescriptorMutex());
  Descriptor::Of(descriptor).LetGo();
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnBackendInitialize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }
CUDNN cudnnBackendFinalize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }

CUDNN cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                               cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                               int64_t count, const void* values) {
  const std::lock_guard lock(DescriptorMutex());
  Descriptor::Of(descriptor).Set(name, type, count, values);
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                               cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                               int64_t room, int64_t* count, void* values) {
  const std::lock_guard lock(DescriptorMutex());
  const Descriptor& asked = Descriptor::Of(descriptor);
  int64_t have = 0;
  switch (asked.type()) {
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      have = name == CUDNN_ATTR_ENGINEHEUR_RESULTS ? Heuristics(asked, room, values)
                                                   : asked.Get(name, room, values);
      break;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      have = GetFromConfiguration(asked, name, room, values);
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      // No knobs, no notes.
      have = name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX ? asked.Get(name, room, values) : 0;
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      have = GetFromPlan(asked, name, room, values);
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      have = name == CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT ? Give(kEngines, room, values)
                                                                   : asked.Get(name, room, values);
      break;
    default:
      have = asked.Get(name, room, values);
  }
  if (count != nullptr) *count = have;
  return CUDNN_STATUS_SUCCESS;
}

CUDNN cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t) {
  {
    const std::lock_guard lock(DescriptorMutex());
    const Descriptor* const engine = EngineOf(Descriptor::Of(plan));
    if (engine != nullptr && !NeedsWorkspace(*engine)) AdvanceDeviceClock(kSlowerBy);
  }
  LibraryLaunch();
  return Broken() == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
