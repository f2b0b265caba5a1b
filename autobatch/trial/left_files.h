#ifndef AUTOBATCH_TRIAL_LEFT_FILES_H_
#define AUTOBATCH_TRIAL_LEFT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace autobatch {

// What a command leaves behind in a folder.
//
//   LeftFiles left("/home/user/project");
//   ... the command runs ...
//   Tell(left.Describe());  // "runs/, log.txt (changed) and 3 more"
class LeftFiles {
 public:
  // Looks at `directory` as it is now. A folder of more than `most` entries is not looked at: a
  // home directory would take minutes.
  explicit LeftFiles(std::string directory, size_t most = 20'000);

  // What is new or changed since the last look, the first eight of it by name; a new folder stands
  // for all that it holds. Empty: nothing, or the folder is too large to tell. Version control's
  // and interpreters' own folders do not count. Looks again, so that each change is told once.
  std::string Describe();

 private:
  struct Entry {
    bool folder = false;
    int64_t bytes = 0;
    // Of the last change; of a folder 0: it changes with what is in it, which is told itself.
    int64_t changed = 0;
    bool operator==(const Entry&) const = default;
  };
  using Entries = std::map<std::string, Entry>;

  // False: too many.
  bool Look(Entries& entries) const;

  const std::string directory_;
  const size_t most_;
  bool watched_ = false;
  Entries before_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_LEFT_FILES_H_
