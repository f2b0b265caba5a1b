#include "autobatch/simcuda/nccl_reduce.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace autobatch::simcuda {
namespace {

// Half precision as it lies in memory; arithmetic on it is that of float, rounded.
template <int kExponentBits>
struct Half {
  uint16_t bits;

  static constexpr int kFractionBits = 15 - kExponentBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kTopExponent = (1 << kExponentBits) - 1;

  explicit operator float() const {
    const int exponent = (bits >> kFractionBits) & kTopExponent;
    const int fraction = bits & ((1 << kFractionBits) - 1);
    float value;
    if (exponent == kTopExponent) {
      value = fraction == 0 ? INFINITY : NAN;
    } else if (exponent == 0) {
      value = std::ldexp(static_cast<float>(fraction), 1 - kBias - kFractionBits);
    } else {
      value = std::ldexp(static_cast<float>(fraction + (1 << kFractionBits)),
                         exponent - kBias - kFractionBits);
    }
    return (bits & 0x8000) != 0 ? -value : value;
  }

  static Half From(float value) {
    const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const auto with_sign = [sign](int magnitude) {
      return Half{static_cast<uint16_t>(sign | magnitude)};
    };
    constexpr int kInfinity = kTopExponent << kFractionBits;
    if (std::isnan(value)) return with_sign(kInfinity | 1);
    if (std::isinf(value)) return with_sign(kInfinity);
    if (value == 0) return with_sign(0);
    // The step between neighbours there; below the normal numbers it stays the same.
    const int exponent = std::max(std::ilogb(value), 1 - kBias);
    const float steps = std::nearbyint(std::ldexp(std::fabs(value), kFractionBits - exponent));
    // A carry into the exponent is right, up to infinity.
    const int magnitude = ((exponent + kBias - 1) << kFractionBits) + static_cast<int>(steps);
    return with_sign(std::min(magnitude, kInfinity));
  }
};

using Float16 = Half<5>;
using BFloat16 = Half<8>;

// What an element is worked with, and back.
template <typename T>
T Load(T value) {
  return value;
}
template <int kBits>
float Load(Half<kBits> value) {
  return static_cast<float>(value);
}
template <typename T, typename V>
T Store(V value) {
  if constexpr (requires { T::From(value); }) {
    return T::From(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Calls `use` with a null pointer of the type in memory. False: it is not worked with.
template <typename Use>
bool WithType(ncclDataType_t type, Use&& use) {
  switch (type) {
    case ncclInt8:
      use(static_cast<int8_t*>(nullptr));
      return true;
    case ncclUint8:
      use(static_cast<uint8_t*>(nullptr));
      return true;
    case ncclInt32:
      use(static_cast<int32_t*>(nullptr));
      return true;
    case ncclUint32:
      use(static_cast<uint32_t*>(nullptr));
      return true;
    case ncclInt64:
      use(static_cast<int64_t*>(nullptr));
      return true;
    case ncclUint64:
      use(static_cast<uint64_t*>(nullptr));
      return true;
    case ncclFloat16:
      use(static_cast<Float16*>(nullptr));
      return true;
    case ncclBfloat16:
      use(static_cast<BFloat16*>(nullptr));
      return true;
    case ncclFloat32:
      use(static_cast<float*>(nullptr));
      return true;
    case ncclFloat64:
      use(static_cast<double*>(nullptr));
      return true;
    default:
      return false;
  }
}

template <typename V>
V Join(ncclRedOp_t operation, V a, V b) {
  // Sums and products of integers wrap around, as on the device.
  const auto wrapped = [](auto&& work, V x, V y) {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(work(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
    } else {
      return work(x, y);
    }
  };
  switch (operation) {
    case ncclProd:
      return wrapped([](auto x, auto y) { return x * y; }, a, b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return wrapped([](auto x, auto y) { return x + y; }, a, b);
  }
}

template <typename T>
T At(const char* bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Put(std::vector<char>& bytes, size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

}  // namespace

size_t BytesOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

void Reduce(ncclRedOp_t operation, ncclDataType_t type, std::vector<char>& into,
            const std::vector<char>& bytes) {
  if (into.empty() && bytes.empty()) return;
  into.resize(std::max(into.size(), bytes.size()));
  const bool known = WithType(type, [&]<typename T>(T*) {
    for (size_t i = 0; i < into.size() / sizeof(T); ++i) {
      const T other = bytes.empty() ? T{} : At<T>(bytes.data(), i);
      Put(into, i, Store<T>(Join(operation, Load(At<T>(into.data(), i)), Load(other))));
    }
  });
  if (!known) into.clear();
}

void Scale(ncclDataType_t type, double factor, std::vector<char>& bytes) {
  const bool known = WithType(type, [&]<typename T>(T*) {
    for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
      Put(bytes, i, Store<T>(static_cast<double>(Load(At<T>(bytes.data(), i))) * factor));
    }
  });
  if (!known) bytes.clear();
}

void Divide(ncclDataType_t type, int divisor, std::vector<char>& bytes) {
  const bool known = WithType(type, [&]<typename T>(T*) {
    for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
      const auto value = Load(At<T>(bytes.data(), i));
      Put(bytes, i, Store<T>(value / static_cast<decltype(value)>(divisor)));
    }
  });
  if (!known) bytes.clear();
}

double ReadNumber(ncclDataType_t type, const void* address) {
  double number = 0;
  WithType(type, [&]<typename T>(T*) {
    number = static_cast<double>(Load(At<T>(static_cast<const char*>(address), 0)));
  });
  return number;
}

}  // namespace autobatch::simcuda
