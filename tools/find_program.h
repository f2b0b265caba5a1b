#ifndef TOOLS_FIND_PROGRAM_H_
#define TOOLS_FIND_PROGRAM_H_

#include <string>

namespace autobatch {

// The file that `word` means to execvp, a path from where the user stands or a name in PATH; ""
// where there is none that may be executed.
std::string FindProgram(const std::string& word);

}  // namespace autobatch

#endif  // TOOLS_FIND_PROGRAM_H_
