#ifndef AUTOBATCH_SIMCUDA_CUDNN_DESCRIPTOR_H_
#define AUTOBATCH_SIMCUDA_CUDNN_DESCRIPTOR_H_

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "autobatch/simcuda/conv_workspace.h"

namespace autobatch::simcuda {

// One of cuDNN's backend descriptors: attributes by number, as they were set. Descriptors hold
// those that they refer to, since a program may destroy its own reference first. Not thread-safe.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) : type_(type) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  static Descriptor& Of(cudnnBackendDescriptor_t handle) {
    return *static_cast<Descriptor*>(handle);
  }
  cudnnBackendDescriptor_t handle() { return static_cast<cudnnBackendDescriptor_t>(this); }
  cudnnBackendDescriptorType_t type() const { return type_; }

  // Born with one holder. The last one to let go deletes it.
  void Hold() { ++holders_; }
  void LetGo();

  void Set(int name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  void SetNumber(int name, int64_t value) { Set(name, CUDNN_TYPE_INT64, 1, &value); }
  void SetReference(int name, Descriptor& to);
  void CopyFrom(const Descriptor& other);

  // How many values there are; up to `room` of them are copied.
  int64_t Get(int name, int64_t room, void* values) const;
  int64_t Number(int name) const;
  int32_t Enumerator(int name) const;
  std::vector<int64_t> Numbers(int name) const;
  // Null where there are not so many.
  Descriptor* Reference(int name, size_t index = 0) const;
  size_t References(int name) const;

 private:
  struct Attribute {
    cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
    int64_t count = 0;
    std::vector<char> bytes;
    std::vector<Descriptor*> references;
  };

  ~Descriptor();

  const Attribute* Find(int name) const;

  const cudnnBackendDescriptorType_t type_;
  int holders_ = 1;
  std::map<int, Attribute> attributes_;
};

// The attribute's size in the caller's array.
size_t AttributeBytes(cudnnBackendAttributeType_t type);

// The convolution among the operations of a graph; absent where there is none.
std::optional<Convolution> ConvolutionOf(const Descriptor& operation_graph);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_CUDNN_DESCRIPTOR_H_
