#ifndef ORCHESTRATOR_NET_SECRET_H_
#define ORCHESTRATOR_NET_SECRET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// Bytes that nobody else should see: in pages of their own, which no core dump holds, no child
// inherits, and which are wiped at the end (and not swapped, where the limits allow it). Never in
// a log: there is no way to print one. Copies share the pages.
class Secret {
 public:
  static constexpr size_t kMinimumSize = 16;
  static constexpr size_t kMaximumSize = 4096;

  // Of a file that only its owner can read. A line end at the end does not count. PermissionDenied
  // if others may read or write it, or another user owns it; InvalidArgument if it is shorter than
  // the minimum; NotFound and others of errno. Each says what to do.
  static absl::StatusOr<Secret> FromFile(const std::string& path);

  // Of an inherited descriptor, read to its end and closed. InvalidArgument: it can be none.
  static absl::StatusOr<Secret> FromDescriptor(int64_t number);

  // A copy of these bytes, for tests and for keys made on the spot.
  static absl::StatusOr<Secret> FromBytes(absl::string_view bytes);

  // A fresh one, of 32 random bytes.
  static absl::StatusOr<Secret> Random();

  // A key of 32 bytes for one purpose (HKDF-SHA256): no two purposes share a key, and none tells
  // anything about the secret.
  absl::StatusOr<Secret> Derive(absl::string_view purpose) const;

  absl::string_view bytes() const;

 private:
  class Pages;
  explicit Secret(std::shared_ptr<const Pages> pages) : pages_(std::move(pages)) {}
  static absl::StatusOr<Secret> Read(int descriptor, const std::string& name);

  std::shared_ptr<const Pages> pages_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_SECRET_H_
