#ifndef AUTOBATCH_SIMCUDA_KEPT_BYTES_H_
#define AUTOBATCH_SIMCUDA_KEPT_BYTES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace autobatch::simcuda {

// The few bytes of a device's memory that are real: small ones that the host copied in, until a
// kernel runs that may write them, since nobody knows what it would have made of them. (Kept for
// longer, stale bytes at an address that is used again were once read as a size of -4.8e18.)
// Everything else reads as zero. Start-up code that sends sizes around works on it. Thread-safe.
class KeptBytes {
 public:
  // Larger copies, such as batches of images, are not kept.
  static constexpr uint64_t kMost = 1 << 20;

  KeptBytes() = default;
  ~KeptBytes();

  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;

  // For a device of so many bytes of addresses. False where the process may not reserve them.
  bool Create(uint64_t size);

  void Write(uint64_t offset, const void* bytes, uint64_t count);
  // `count` times the same element.
  void Fill(uint64_t offset, const void* element, uint64_t element_bytes, uint64_t count);
  void Read(uint64_t offset, void* bytes, uint64_t count);
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // A kernel was launched that may write anywhere. Cheap where nothing is kept.
  void Forget() {
    if (any()) ForgetAll();
  }

 private:
  struct Range {
    uint64_t offset;
    uint64_t count;
  };

  void ForgetAll();

  std::mutex mutex_;
  char* base_ = nullptr;
  uint64_t size_ = 0;
  std::vector<Range> kept_;
  std::atomic<bool> any_ = false;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_KEPT_BYTES_H_
