#ifndef AUTOBATCH_SIMCUDA_DEVICE_H_
#define AUTOBATCH_SIMCUDA_DEVICE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "autobatch/simcuda/address_space.h"
#include "autobatch/simcuda/card.h"
#include "autobatch/simcuda/kept_bytes.h"
#include "autobatch/simcuda/shared_usage.h"

namespace autobatch::simcuda {

struct Uuid {
  std::array<uint8_t, 16> bytes = {};

  // "GPU-…" or "MIG-…": the prefix with the bytes in the usual groups.
  std::string Text(const char* prefix) const;
};

// Numbers for identifiers: the GPU's, and those of its up to seven instances.
inline constexpr int kIdentifiersPerGpu = 8;

// The same name and number give the same identifier, everywhere and always.
Uuid MakeUuid(const std::string& node, int number);

// What a device costs beyond its card, and what is wrong with it.
struct DeviceSetup {
  Card card;
  // The GPU's place on the bus, counted from 0; an instance has its GPU's.
  int bus = 0;
  // Of a MIG instance, counted from 0.
  std::optional<int> instance;
  Uuid uuid;
  uint64_t used_by_others = 0;
  uint64_t context = 0;
  // Allocations beyond the card's memory succeed.
  bool spill = false;
};

// One simulated GPU or MIG instance as this process uses it: addresses, and pages of memory that
// are counted and never touched. Thread-safe.
class Device {
 public:
  Device(DeviceSetup setup, SharedUsage& usage);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Card& card() const { return setup_.card; }
  const Uuid& uuid() const { return setup_.uuid; }
  int bus() const { return setup_.bus; }
  std::optional<int> instance() const { return setup_.instance; }
  std::string UuidText() const { return uuid().Text(setup_.instance ? "MIG-" : "GPU-"); }

  // Takes the context's memory; a second call does nothing. False: out of memory.
  bool CreateContext();
  bool has_context() const { return has_context_.load(std::memory_order_acquire); }

  // With memory behind them; null: out of memory.
  void* Allocate(uint64_t bytes);
  // False where nothing was allocated there.
  bool Free(const void* address);

  // Memory without addresses, and addresses without memory. TakeMemory says whether there was
  // enough; it serves the driver's own use as well.
  bool TakeMemory(uint64_t bytes);
  void GiveMemory(uint64_t bytes);
  void* ReserveAddresses(uint64_t bytes);
  bool ReleaseAddresses(const void* address);
  // What was reserved or allocated where `address` lies; absent where nothing was.
  std::optional<AddressRange> FindAddresses(const void* address);

  // Takes so many bytes for somebody else, whoever has them now.
  void Steal(uint64_t bytes) { stolen_ += bytes; }

  // Left for anybody, and what all together hold (at most the card's total).
  uint64_t FreeBytes();
  // Whether more is held than the card has.
  bool Spilled();
  std::vector<ProcessUse> Processes();

  bool Owns(const void* address) const { return addresses_.Contains(address); }
  uint64_t OffsetOf(const void* address) const { return addresses_.OffsetOf(address); }
  KeptBytes& kept() { return kept_; }

  // By this process, context included: now, and at most.
  uint64_t HeldBytes();
  uint64_t peak() const { return peak_; }

 private:
  int UsageIndex() const;
  uint64_t Limit() const;
  bool TakeLocked(uint64_t bytes);

  const DeviceSetup setup_;
  SharedUsage& usage_;
  std::mutex mutex_;
  std::atomic<bool> has_context_ = false;
  std::atomic<uint64_t> stolen_ = 0;
  std::atomic<uint64_t> peak_ = 0;
  AddressSpace addresses_;
  KeptBytes kept_;
  // Memory behind the addresses that Allocate gave.
  std::unordered_map<const void*, uint64_t> allocated_;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_DEVICE_H_
