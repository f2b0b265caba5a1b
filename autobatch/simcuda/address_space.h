#ifndef AUTOBATCH_SIMCUDA_ADDRESS_SPACE_H_
#define AUTOBATCH_SIMCUDA_ADDRESS_SPACE_H_

#include <cstdint>
#include <map>
#include <optional>

namespace autobatch::simcuda {

// Physical device memory comes in pages of this size.
inline constexpr uint64_t kPage = uint64_t{2} << 20;

inline constexpr uint64_t RoundToPages(uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

struct AddressRange {
  void* begin = nullptr;
  uint64_t bytes = 0;

  bool operator==(const AddressRange&) const = default;
};

// Device addresses that nothing stands behind: a reservation of the process's own address space, so
// that no address of a device is one of the host, and touching one by accident is a fault. Not
// thread-safe.
class AddressSpace {
 public:
  AddressSpace() = default;
  ~AddressSpace();

  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // False where the process may not reserve so much.
  bool Create(uint64_t bytes);

  // First fit, in whole pages; null where there is no such gap.
  void* Reserve(uint64_t bytes);
  // The bytes that Reserve(bytes) gave there, or absent where nothing begins there.
  std::optional<uint64_t> Release(const void* address);

  // The reservation that holds `address`; absent where none does.
  std::optional<AddressRange> Find(const void* address) const;

  bool Contains(const void* address) const;
  uint64_t OffsetOf(const void* address) const;
  uint64_t size() const { return size_; }

 private:
  char* base_ = nullptr;
  uint64_t size_ = 0;
  // Offset to length.
  std::map<uint64_t, uint64_t> gaps_;
  std::map<uint64_t, uint64_t> taken_;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_ADDRESS_SPACE_H_
