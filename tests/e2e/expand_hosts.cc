// Expands host lists, one a line of stdin: the hosts on one line of stdout, or "refused".

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "orchestrator/dialect/hostlist.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const absl::StatusOr<std::vector<std::string>> hosts = autobatch::ExpandHostlist(line);
    std::cout << (hosts.ok() ? absl::StrJoin(*hosts, " ") : "refused") << "\n";
  }
  return 0;
}
