#include "autobatch/simcuda/cudnn_descriptor.h"

#include <algorithm>
#include <cstring>

namespace autobatch::simcuda {
namespace {

struct ConvolutionNames {
  cudnnBackendDescriptorType_t operation;
  ConvPass pass;
  int x, w, y;
};
constexpr ConvolutionNames kConvolutions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, ConvPass::kForward,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, ConvPass::kBackwardData,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, ConvPass::kBackwardFilter,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

ConvType TypeOf(const Descriptor& tensor) {
  switch (tensor.Enumerator(CUDNN_ATTR_TENSOR_DATA_TYPE)) {
    case CUDNN_DATA_DOUBLE:
      return ConvType::kFloat64;
    case CUDNN_DATA_FLOAT:
      return ConvType::kFloat32;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return ConvType::kHalf;
    default:
      return ConvType::kOther;
  }
}

// A tensor of one channel is laid out both ways.
bool ChannelsLast(const Descriptor& tensor) {
  const std::vector<int64_t> dimensions = tensor.Numbers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const std::vector<int64_t> strides = tensor.Numbers(CUDNN_ATTR_TENSOR_STRIDES);
  return dimensions.size() >= 3 && strides.size() >= 3 && (dimensions[1] == 1 || strides[1] == 1);
}

}  // namespace

size_t AttributeBytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_FRACTION:
      return sizeof(cudnnFraction_t);
    default:
      return 4;
  }
}

Descriptor::~Descriptor() {
  for (const auto& [name, attribute] : attributes_) {
    for (Descriptor* const reference : attribute.references) {
      if (reference != nullptr) reference->LetGo();
    }
  }
}

void Descriptor::LetGo() {
  if (--holders_ == 0) delete this;
}

void Descriptor::Set(int name, cudnnBackendAttributeType_t type, int64_t count,
                     const void* values) {
  Attribute attribute = {.type = type, .count = count, .bytes = {}, .references = {}};
  if (values != nullptr && count > 0) {
    const auto* const bytes = static_cast<const char*>(values);
    attribute.bytes.assign(bytes, bytes + static_cast<size_t>(count) * AttributeBytes(type));
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      const auto* const handles = static_cast<Descriptor* const*>(values);
      attribute.references.assign(handles, handles + count);
      for (Descriptor* const reference : attribute.references) {
        if (reference != nullptr) reference->Hold();
      }
    }
  }
  std::swap(attributes_[name], attribute);
  for (Descriptor* const reference : attribute.references) {
    if (reference != nullptr) reference->LetGo();
  }
}

void Descriptor::SetReference(int name, Descriptor& to) {
  Descriptor* const reference = &to;
  Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &reference);
}

void Descriptor::CopyFrom(const Descriptor& other) {
  for (const auto& [name, attribute] : other.attributes_) {
    Set(name, attribute.type, attribute.count, attribute.bytes.data());
  }
}

const Descriptor::Attribute* Descriptor::Find(int name) const {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? nullptr : &found->second;
}

int64_t Descriptor::Get(int name, int64_t room, void* values) const {
  const Attribute* const attribute = Find(name);
  if (attribute == nullptr) return 0;
  const size_t bytes = AttributeBytes(attribute->type) *
                       static_cast<size_t>(std::max<int64_t>(0, std::min(room, attribute->count)));
  if (values != nullptr) {
    std::memcpy(values, attribute->bytes.data(), std::min(bytes, attribute->bytes.size()));
  }
  return attribute->count;
}

int64_t Descriptor::Number(int name) const {
  int64_t value = 0;
  Get(name, 1, &value);
  return value;
}

int32_t Descriptor::Enumerator(int name) const {
  int32_t value = 0;
  Get(name, 1, &value);
  return value;
}

std::vector<int64_t> Descriptor::Numbers(int name) const {
  std::vector<int64_t> values(static_cast<size_t>(Get(name, 0, nullptr)));
  Get(name, static_cast<int64_t>(values.size()), values.data());
  return values;
}

Descriptor* Descriptor::Reference(int name, size_t index) const {
  return index < References(name) ? Find(name)->references[index] : nullptr;
}

size_t Descriptor::References(int name) const {
  const Attribute* const attribute = Find(name);
  return attribute == nullptr ? 0 : attribute->references.size();
}

std::optional<Convolution> ConvolutionOf(const Descriptor& operation_graph) {
  for (size_t i = 0; i < operation_graph.References(CUDNN_ATTR_OPERATIONGRAPH_OPS); ++i) {
    const Descriptor* const operation = operation_graph.Reference(CUDNN_ATTR_OPERATIONGRAPH_OPS, i);
    for (const ConvolutionNames& names : kConvolutions) {
      if (operation == nullptr || operation->type() != names.operation) continue;
      const Descriptor* const x = operation->Reference(names.x);
      const Descriptor* const w = operation->Reference(names.w);
      const Descriptor* const y = operation->Reference(names.y);
      if (x == nullptr || w == nullptr || y == nullptr) continue;
      return Convolution{.pass = names.pass,
                         .type = TypeOf(*x),
                         .channels_last = ChannelsLast(*x) && ChannelsLast(*y),
                         .x = x->Numbers(CUDNN_ATTR_TENSOR_DIMENSIONS),
                         .w = w->Numbers(CUDNN_ATTR_TENSOR_DIMENSIONS),
                         .y = y->Numbers(CUDNN_ATTR_TENSOR_DIMENSIONS)};
    }
  }
  return std::nullopt;
}

}  // namespace autobatch::simcuda
