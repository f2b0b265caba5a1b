#include "autobatch/types/place.h"

#include "absl/strings/str_cat.h"

namespace autobatch {

std::string Place::ToString() const {
  const std::string path = outer_ == nullptr ? "" : outer_->ToString();
  if (field_ != nullptr) return path.empty() ? field_ : absl::StrCat(path, ".", field_);
  return outer_ == nullptr ? "" : absl::StrCat(path, "[", index_, "]");
}

}  // namespace autobatch
