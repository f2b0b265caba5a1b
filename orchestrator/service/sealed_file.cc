#include "orchestrator/service/sealed_file.h"

#include <cstddef>
#include <cstdio>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

constexpr absl::string_view kFormat = "autobatch.sealed.v1";

}  // namespace

absl::Status SealedFile::Write(absl::string_view content) const {
  const std::string text = Sealed(content);
  // What has this name was on the disk before it got it.
  const absl::StatusOr<std::string> foreseen = ReadFile(foreseen_path());
  if (!foreseen.ok() || *foreseen != text ||
      std::rename(foreseen_path().c_str(), path_.c_str()) != 0) {
    AB_RETURN_IF_ERROR(WriteFileAtomically(path_, text));
  }
  return SyncFolderOf(path_);
}

absl::Status SealedFile::Foresee(absl::string_view content) const {
  return WriteFileAtomically(foreseen_path(), Sealed(content));
}

std::string SealedFile::Sealed(absl::string_view content) const {
  return absl::StrCat(kFormat, " ", content.size(), " ", seal_(content), "\n", content);
}

absl::StatusOr<std::string> SealedFile::Read() const {
  AB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path_));
  return Open(text);
}

absl::StatusOr<std::string> SealedFile::Open(absl::string_view text) const {
  if (text.empty()) return Damaged("empty");
  const size_t end = text.find('\n');
  const absl::string_view head = text.substr(0, end);
  const std::vector<absl::string_view> words = absl::StrSplit(head, ' ');
  if (words[0] != kFormat) {
    return Damaged(absl::StrCat("no file of the format ", kFormat));
  }
  size_t length = 0;
  if (end == absl::string_view::npos || words.size() != 3 || !absl::SimpleAtoi(words[1], &length)) {
    return Damaged("torn within its first line");
  }
  std::string content(text.substr(end + 1));
  if (content.size() != length) {
    return Damaged(absl::StrCat("torn: ", content.size(), " of ", length, " bytes are there"));
  }
  if (!SealsEqual(seal_(content), words[2])) {
    return Damaged("changed since it was written, or sealed with another secret");
  }
  return content;
}

absl::Status SealedFile::Damaged(absl::string_view how) const {
  return absl::DataLossError(absl::StrCat(path_, " is ", how));
}

}  // namespace autobatch
