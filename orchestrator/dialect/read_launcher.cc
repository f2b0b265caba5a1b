#include "orchestrator/dialect/read_launcher.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/types/enum_names.h"
#include "orchestrator/dialect/readers.h"

namespace autobatch {
namespace {

absl::string_view NameOf(Dialect dialect) {
  switch (dialect) {
    case Dialect::kNone:
      return "no launcher";
    case Dialect::kTorchrun:
      return "torchrun";
    case Dialect::kEnv:
      return "the environment";
    case Dialect::kSlurm:
      return "Slurm";
    case Dialect::kOpenMpi:
      return "Open MPI";
    case Dialect::kMpich:
      return "MPICH";
    case Dialect::kKubeflow:
      return "Kubeflow";
  }
  return "an unknown launcher";
}

std::string RankText(const LauncherFacts& facts) {
  return absl::StrCat(NameOf(facts.dialect), " says rank ", facts.rank.value_or(-1), " of ",
                      facts.world_size.value_or(-1));
}

bool SameRank(const LauncherFacts& a, const LauncherFacts& b) {
  return a.rank == b.rank && a.world_size == b.world_size;
}

// One outer task a node, from which a launcher started the inner ranks in order.
bool SpawnedByTask(const LauncherFacts& inner, const LauncherFacts& outer) {
  const bool one_a_node = outer.world_size == outer.node_count || outer.local_world_size == 1;
  if (!one_a_node || *inner.world_size % *outer.world_size != 0) return false;
  return *inner.rank / (*inner.world_size / *outer.world_size) == *outer.rank;
}

// torchrun's agents are the outer launcher's tasks.
void CompareAgents(const LauncherFacts& inner, const LauncherFacts& outer,
                   LauncherReading& reading) {
  if (!inner.node_count.has_value() || !outer.world_size.has_value()) return;
  if (*inner.node_count > *outer.world_size) {
    reading.contradictions.push_back(
        absl::StrCat("torchrun's world has GROUP_WORLD_SIZE=", *inner.node_count, " agents, and ",
                     NameOf(outer.dialect), " started ", *outer.world_size, " tasks"));
  } else if (*inner.node_count < *outer.world_size) {
    reading.notes.push_back(absl::StrCat(NameOf(outer.dialect), " started ", *outer.world_size,
                                         " tasks, and torchrun's world has ", *inner.node_count,
                                         " agents"));
  }
}

void ComparePods(const LauncherFacts& inner, const LauncherFacts& outer, LauncherReading& reading) {
  if (!inner.node_count.has_value() || !outer.max_nodes.has_value()) return;
  if (*inner.node_count >= *outer.min_nodes && *inner.node_count <= *outer.max_nodes) return;
  reading.contradictions.push_back(absl::StrCat(
      NameOf(inner.dialect), "'s world has ", *inner.node_count, " nodes, and PET_NNODES=",
      *outer.min_nodes == *outer.max_nodes ? "" : absl::StrCat(*outer.min_nodes, ":"),
      *outer.max_nodes));
}

void Compare(const LauncherFacts& inner, const LauncherFacts& outer, LauncherReading& reading) {
  if (outer.dialect == Dialect::kKubeflow) return ComparePods(inner, outer, reading);
  if (!outer.rank.has_value() || !outer.world_size.has_value()) return;
  if (inner.dialect == Dialect::kTorchrun) return CompareAgents(inner, outer, reading);
  if (!inner.rank.has_value() || !inner.world_size.has_value()) return;
  if (SameRank(inner, outer)) return;
  if (inner.dialect == Dialect::kEnv && SpawnedByTask(inner, outer)) return;
  reading.contradictions.push_back(absl::StrCat(RankText(inner), ", ", RankText(outer)));
}

template <typename T>
void Fill(std::optional<T>& into, const std::optional<T>& from) {
  if (!into.has_value()) into = from;
}

template <typename T>
void FillText(T& into, const T& from) {
  if (into.empty()) into = from;
}

// What the inner launcher does not say, from the one around it.
void Complete(LauncherFacts& facts, const LauncherFacts& outer) {
  facts.outer.push_back(outer.dialect);
  if (SameRank(facts, outer)) {
    Fill(facts.local_rank, outer.local_rank);
    Fill(facts.local_world_size, outer.local_world_size);
    Fill(facts.node_rank, outer.node_rank);
  }
  Fill(facts.node_count, outer.node_count);
  Fill(facts.min_nodes, outer.min_nodes);
  Fill(facts.max_nodes, outer.max_nodes);
  Fill(facts.restart_count, outer.restart_count);
  FillText(facts.run_id, outer.run_id);
  FillText(facts.node_name, outer.node_name);
  FillText(facts.nodes, outer.nodes);
  if (facts.master_address.empty()) {
    facts.master_address = outer.master_address;
    facts.master_port = outer.master_port;
  }
}

}  // namespace

LauncherReading ReadLauncher(const Environment& environment) {
  LauncherReading reading;
  EnvironmentReader reader(environment, reading.contradictions);
  std::vector<LauncherFacts> layers;
  // From the inside out: whoever starts workers inside another's tasks sets its variables last.
  for (auto* read : {&ReadTorchrun, &ReadMpi, &ReadSlurm, &ReadKubeflow}) {
    if (std::optional<LauncherFacts> facts = read(reader)) layers.push_back(*std::move(facts));
  }
  if (layers.empty()) return reading;
  for (size_t outer = 1; outer < layers.size(); ++outer) {
    Compare(layers[0], layers[outer], reading);
  }
  reading.facts = layers[0];
  for (size_t outer = 1; outer < layers.size(); ++outer) Complete(reading.facts, layers[outer]);
  return reading;
}

absl::Status CheckReading(const LauncherReading& reading) {
  if (reading.contradictions.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the launcher's variables contradict each other (", DialectName(reading.facts), "):\n  ",
      absl::StrJoin(reading.contradictions, "\n  "),
      "\nSet or unset them so that they agree: which of them is right is not for us to guess."));
}

std::string DialectName(const LauncherFacts& facts) {
  std::string name(NameOf(facts.dialect));
  for (const Dialect outer : facts.outer) absl::StrAppend(&name, " in ", NameOf(outer));
  return name;
}

}  // namespace autobatch
