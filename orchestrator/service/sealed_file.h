#ifndef ORCHESTRATOR_SERVICE_SEALED_FILE_H_
#define ORCHESTRATOR_SERVICE_SEALED_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/net/seal.h"

namespace autobatch {

// A file that is there whole and as it was written, or is named as damaged: the coordinator's
// durable state.
//
//   const SealedFile file("/var/lib/job/coordinator.state", seal);
//   AB_RETURN_IF_ERROR(file.Write(ToJson(state)));  // On the disk once it returns.
//
// One line says the format, the content's length in bytes and its seal; the content follows as it
// is, so that a person can read it.
class SealedFile {
 public:
  SealedFile(std::string path, Seal seal) : path_(std::move(path)), seal_(std::move(seal)) {}

  const std::string& path() const { return path_; }

  // Replaces the file whole; the old one stays where that fails (disk full, read-only). Outlasts a
  // power cut.
  absl::Status Write(absl::string_view content) const;

  // Puts beside the file what Write() will probably be given next: it is a rename then, instead of
  // a write that is waited for.
  absl::Status Foresee(absl::string_view content) const;
  std::string foreseen_path() const { return path_ + ".next"; }

  // The content. NotFound: there is no file. DataLoss: it is torn, changed, sealed with another
  // secret or no such file at all; the message says which.
  absl::StatusOr<std::string> Read() const;

  // The content of a file that has this text. Errors as Read()'s.
  absl::StatusOr<std::string> Open(absl::string_view text) const;

 private:
  std::string Sealed(absl::string_view content) const;
  absl::Status Damaged(absl::string_view how) const;

  std::string path_;
  Seal seal_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_SEALED_FILE_H_
