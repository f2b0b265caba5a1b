#ifndef AUTOBATCH_NCCL_NCCL_FACTS_H_
#define AUTOBATCH_NCCL_NCCL_FACTS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "orchestrator/nccl/reduce_answer.h"

namespace autobatch {

// What NCCL reads of a node beside the program, in falling order of precedence.
struct NcclSettings {
  // "NAME=VALUE", as in environ; other variables may be among them.
  std::vector<std::string> environment;
  // Texts of the user's file (NCCL_CONF_FILE, else ~/.nccl.conf) and of /etc/nccl.conf: lines
  // NAME=VALUE, # begins a comment. Empty where there is none.
  std::string user_file;
  std::string system_file;
};

// Of this process: its environment and the files of this machine.
NcclSettings ReadNcclSettings();

// What the files say of this variable, which is NCCL's where the environment does not; empty:
// nothing.
std::string InNcclFiles(const NcclSettings& settings, absl::string_view name);

// Everything that must be the same on all nodes for NCCL to work between them: ranks that differ in
// it wait for each other for ever, so it is compared before. Sorted by name; "nccl_version" is
// among them where `library` is given, else it says that there is none. Left out is what may differ
// from node to node: names of interfaces and cards, files, log settings. Values longer than 256
// bytes are cut.
std::vector<std::pair<std::string, std::string>> NcclFacts(
    const NcclSettings& settings, const std::optional<NcclDescription>& library);

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_NCCL_FACTS_H_
