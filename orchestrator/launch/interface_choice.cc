#include "orchestrator/launch/interface_choice.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

using Names = std::vector<std::string>;

absl::Status Wrong(absl::string_view part, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--interface ", absl::CEscape(part), ": ", why));
}

// "eth0 (10.1.0.4), ib0 (down)".
std::string Listed(std::span<const Interface> interfaces) {
  return absl::StrJoin(interfaces, ", ", [](std::string* out, const Interface& interface) {
    absl::StrAppend(out, absl::CEscape(interface.name), " (",
                    !interface.up                 ? "down"
                    : interface.addresses.empty() ? "no address"
                                                  : interface.addresses.front(),
                    ")");
  });
}

absl::StatusOr<const Interface*> Find(absl::string_view part,
                                      std::span<const Interface> interfaces) {
  const bool network = absl::StrContains(part, '/');
  for (const Interface& interface : interfaces) {
    if (interface.name == part) return &interface;
    if (!network) continue;
    for (const std::string& address : interface.addresses) {
      const absl::StatusOr<bool> inside = IsInNetwork(part, address);
      if (!inside.ok()) return Wrong(part, inside.status().message());
      if (*inside) return &interface;
    }
  }
  return Wrong(part, absl::StrCat(network ? "no interface of this host has an address in it"
                                          : "there is no such interface on this host",
                                  "; there are ", Listed(interfaces)));
}

absl::StatusOr<Names> Chosen(absl::string_view choice, std::span<const Interface> interfaces,
                             bool alone) {
  Names names;
  for (const absl::string_view part : absl::StrSplit(choice, ',')) {
    AB_ASSIGN_OR_RETURN(const Interface* const found, Find(part, interfaces));
    if (!found->up) return Wrong(part, absl::StrCat(found->name, " is down"));
    if (found->addresses.empty()) {
      return Wrong(part, absl::StrCat(found->name, " has no address, and no library would use it"));
    }
    if (found->loopback && !alone) {
      return Wrong(part, absl::StrCat(found->name,
                                      " leads nowhere but to this host, and the job "
                                      "has other nodes"));
    }
    if (std::ranges::count(names, found->name) > 0) {
      return Wrong(part, absl::StrCat(found->name, " is chosen twice"));
    }
    names.push_back(found->name);
  }
  return names;
}

// What NCCL makes of its variable: the beginnings of names, exact ones behind '=', all others
// behind '^'.
std::set<std::string> NcclNames(absl::string_view value, std::span<const Interface> interfaces) {
  const bool others = absl::ConsumePrefix(&value, "^");
  const bool exact = absl::ConsumePrefix(&value, "=");
  const Names parts = absl::StrSplit(value, ',', absl::SkipEmpty());
  std::set<std::string> names;
  for (const Interface& interface : interfaces) {
    const bool named = std::ranges::any_of(parts, [&](const std::string& part) {
      return exact ? interface.name == part : absl::StartsWith(interface.name, part);
    });
    if (named != others) names.insert(interface.name);
  }
  return names;
}

}  // namespace

absl::StatusOr<std::vector<WorkerVariable>> InterfaceVariables(
    absl::string_view choice, std::span<const Interface> interfaces, bool alone,
    const Environment& environment, absl::string_view nccl_file) {
  AB_ASSIGN_OR_RETURN(const Names names, Chosen(choice, interfaces, alone));
  const std::string list = absl::StrJoin(names, ",");
  const std::set<std::string> wanted(names.begin(), names.end());
  const auto contradicts = [&](absl::string_view name, absl::string_view value) {
    return Wrong(choice, absl::StrCat("and ", name, "='", absl::CEscape(value),
                                      "' contradict; leave one of them out"));
  };
  std::vector<WorkerVariable> variables;
  for (WorkerVariable variable : {WorkerVariable{"NCCL_SOCKET_IFNAME", "=" + list},
                                  WorkerVariable{"GLOO_SOCKET_IFNAME", list},
                                  WorkerVariable{"TP_SOCKET_IFNAME", names.front()}}) {
    const bool nccl = variable.name[0] == 'N';
    const auto set = environment.find(variable.name);
    const bool given = set != environment.end() && !set->second.empty();
    if (given) {
      const Names theirs = absl::StrSplit(set->second, ',');
      const bool same = nccl ? NcclNames(set->second, interfaces) == wanted
                             : set->second == variable.value ||
                                   std::set<std::string>(theirs.begin(), theirs.end()) == wanted;
      if (!same) return contradicts(variable.name, set->second);
      variable.value = set->second;
    } else if (nccl && !nccl_file.empty() && NcclNames(nccl_file, interfaces) != wanted) {
      return contradicts("NCCL's configuration file with NCCL_SOCKET_IFNAME", nccl_file);
    }
    variables.push_back(std::move(variable));
  }
  return variables;
}

}  // namespace autobatch
