#include "autobatch/simcuda/device.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace autobatch::simcuda {
namespace {

// Address space costs nothing. The framework's expandable segments reserve more than the card has.
constexpr uint64_t kAddressesPerByte = 8;
constexpr uint64_t kMoreAddresses = uint64_t{64} << 30;

// SplitMix64's finisher.
uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

std::string Uuid::Text(const char* prefix) const {
  std::string text = prefix;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    std::snprintf(hex, sizeof(hex), "%02x", bytes[i]);
    text += hex;
  }
  return text;
}

Uuid MakeUuid(const std::string& node, int number) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : node) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  Uuid uuid;
  for (size_t i = 0; i < uuid.bytes.size(); ++i) {
    const uint64_t word = Mix(hash + 2 * static_cast<uint64_t>(number) + i / 8 + 1);
    uuid.bytes[i] = static_cast<uint8_t>(word >> (8 * (i % 8)));
  }
  return uuid;
}

Device::Device(DeviceSetup setup, SharedUsage& usage) : setup_(std::move(setup)), usage_(usage) {}

int Device::UsageIndex() const {
  constexpr int kPerGpu = 8;  // the GPU and its up to seven instances
  return kPerGpu * setup_.bus + (setup_.instance ? 1 + *setup_.instance : 0);
}

uint64_t Device::Limit() const {
  const uint64_t others = setup_.used_by_others + stolen_;
  return others >= setup_.card.total ? 0 : setup_.card.total - others;
}

bool Device::CreateContext() {
  if (has_context()) return true;
  const std::lock_guard lock(mutex_);
  if (has_context()) return true;
  if (!TakeLocked(setup_.context)) return false;
  if (!addresses_.Create(kAddressesPerByte * setup_.card.total + kMoreAddresses) ||
      !kept_.Create(addresses_.size())) {
    std::fprintf(stderr,
                 "simcuda: no address space for device %d (%s); is a limit set (ulimit -v)?\n",
                 setup_.bus, setup_.card.name.c_str());
    usage_.Subtract(UsageIndex(), setup_.context);
    return false;
  }
  has_context_.store(true, std::memory_order_release);
  return true;
}

bool Device::TakeLocked(uint64_t bytes) {
  const uint64_t limit = setup_.spill ? ~uint64_t{0} >> 1 : Limit();
  if (!usage_.TryAdd(UsageIndex(), bytes, limit)) return false;
  peak_ = std::max(peak_.load(), usage_.Own(UsageIndex()));
  return true;
}

void* Device::Allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t pages = RoundToPages(bytes);
  if (pages < bytes || !TakeLocked(pages)) return nullptr;
  void* address = addresses_.Reserve(pages);
  if (address == nullptr) {
    usage_.Subtract(UsageIndex(), pages);
    return nullptr;
  }
  allocated_[address] = pages;
  return address;
}

bool Device::Free(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocated_.find(address);
  if (found == allocated_.end()) return false;
  usage_.Subtract(UsageIndex(), found->second);
  addresses_.Release(address);
  allocated_.erase(found);
  return true;
}

bool Device::TakeMemory(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return TakeLocked(bytes);
}

void Device::GiveMemory(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  usage_.Subtract(UsageIndex(), bytes);
}

void* Device::ReserveAddresses(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return addresses_.Reserve(bytes);
}

bool Device::ReleaseAddresses(const void* address) {
  const std::lock_guard lock(mutex_);
  return addresses_.Release(address).has_value();
}

std::optional<AddressRange> Device::FindAddresses(const void* address) {
  const std::lock_guard lock(mutex_);
  return addresses_.Find(address);
}

uint64_t Device::FreeBytes() {
  const std::lock_guard lock(mutex_);
  const uint64_t used = usage_.Total(UsageIndex());
  const uint64_t limit = Limit();
  return used >= limit ? 0 : limit - used;
}

uint64_t Device::HeldBytes() {
  const std::lock_guard lock(mutex_);
  return usage_.Own(UsageIndex());
}

bool Device::Spilled() {
  const std::lock_guard lock(mutex_);
  return usage_.Total(UsageIndex()) > Limit();
}

std::vector<ProcessUse> Device::Processes() {
  const std::lock_guard lock(mutex_);
  return usage_.Processes(UsageIndex());
}

}  // namespace autobatch::simcuda
