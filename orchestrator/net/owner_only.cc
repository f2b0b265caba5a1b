#include "orchestrator/net/owner_only.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace autobatch {

absl::Status CheckOwnerOnly(int descriptor, const std::string& name) {
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", name));
  }
  if (!S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is no regular file"));
  }
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    return absl::PermissionDeniedError(absl::StrCat(name, " belongs to user ", facts.st_uid,
                                                    ", not to this one (", geteuid(), ")"));
  }
  if ((facts.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrFormat("others than its owner may use %s (mode %04o); run: chmod 600 %s", name,
                        facts.st_mode & 07777, name));
  }
  return absl::OkStatus();
}

}  // namespace autobatch
