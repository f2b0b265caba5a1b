#ifndef ORCHESTRATOR_SERVICE_RECORD_FILE_H_
#define ORCHESTRATOR_SERVICE_RECORD_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// Where an agent leaves the record that training may start on: a file that is there only between a
// round's commit and the next round's prepare. The prepared record stands beside it under another
// name that nobody starts on.
//
//   AB_RETURN_IF_ERROR(file.Prepare(record));  // Before "prepared" is said.
//   AB_RETURN_IF_ERROR(file.Commit());         // Once the commit was seen.
class RecordFile {
 public:
  explicit RecordFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string prepared_path() const { return path_ + ".prepared"; }

  // Takes away the older round's record, for others may already have the commit of this one, and
  // puts the new one's bytes on the disk: to commit is a rename, which needs no room.
  absl::Status Prepare(absl::string_view record) const;

  // Makes the prepared record the one that training starts on. Outlasts a power cut.
  // FailedPrecondition: nothing is prepared.
  absl::Status Commit() const;

  // Nothing is left that looks launchable: neither a record nor a prepared one.
  absl::Status Withdraw() const;

  // The committed record's text. NotFound: there is none.
  absl::StatusOr<std::string> Read() const;

 private:
  absl::Status Remove(const std::string& path) const;

  std::string path_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_RECORD_FILE_H_
