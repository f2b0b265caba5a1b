#ifndef ORCHESTRATOR_SERVICE_FLAG_NAMES_H_
#define ORCHESTRATOR_SERVICE_FLAG_NAMES_H_

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autobatch {

// An error about a field, "join_timeout: …", as one about its flag: "--join-timeout: …". Flags are
// named as the fields are, but for those by which an agent says who it is.
inline absl::Status AsFlag(const absl::Status& status) {
  if (status.ok()) return status;
  std::string message(status.message());
  const bool hello = message.starts_with("hello: ");
  if (hello) message.erase(0, message.find(' ') + 1);
  const size_t end = message.find_first_of(": (");
  std::string field = message.substr(0, end);
  if (hello && field == "agent") field = "name";
  if (hello && field == "boot_id") field = "node_id";
  std::replace(field.begin(), field.end(), '_', '-');
  return {status.code(),
          absl::StrCat("--", field, end == std::string::npos ? "" : message.substr(end))};
}

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_FLAG_NAMES_H_
