#include "orchestrator/launch/launch_options.h"

#include <sstream>
#include <utility>

namespace autobatch {
namespace {

namespace po = boost::program_options;

constexpr unsigned kLineLength = 96;

po::typed_value<std::string>* Text(const char* name) {
  return po::value<std::string>()->value_name(name);
}

po::options_description SourceOptions() {
  po::options_description group("Where the record comes from (none of these: agree here)",
                                kLineLength);
  group.add_options()("socket", Text("PATH"),
                      "ask this node's agent; with --worker the default is $AUTOBATCH_SOCKET")(
      "record", Text("FILE"),
      "the committed record in a file, such as one on a shared volume; with --worker the default "
      "is $AUTOBATCH_RECORD")(
      "run-id", Text("NAME"),
      "which run it has to be (default: $AUTOBATCH_RUN_ID, else the launcher's)")(
      "secret-file", Text("FILE"), "the run's secret, which seals the record")(
      "secret-fd", Text("N"), "the same, from an inherited descriptor")(
      "wait", Text("T"), "for an agent that has no record yet, such as 90s or 10m (default: 10m)");
  return group;
}

po::options_description StartOptions() {
  po::options_description group("What is started", kLineLength);
  group.add_options()("worker", po::bool_switch(),
                      "this is one rank: take its share and become the command")(
      "world-size", Text("N"),
      "ranks that the command starts (default: torchrun's own, else the record's)")(
      "allow-simulated", po::bool_switch(), "start on a record of simulated devices")(
      "fallback-batch", Text("N"),
      "where there is no agreement, start on this batch, which nothing has run (default: do not)")(
      "when-world-changes", Text("P"),
      "a new round while the command runs: keep it, restart it on the new record, or stop it "
      "(default: keep an elastic torchrun, whose workers ask again; else stop)")(
      "grace", Text("T"),
      "from SIGTERM to SIGKILL for what the command leaves behind (default: "
      "10s)");
  return group;
}

po::options_description OutputOptions() {
  po::options_description group("Output", kLineLength);
  group.add_options()("format", Text("F"),
                      "instead of a command, write to stdout: json, env (lines for a shell), or "
                      "slurm-task-prolog (export lines and nothing else)")(
      "publish", Text("DIR"),
      "instead of a command, write record.json and launch.json to this folder and end: a "
      "Kubernetes init container")("quiet,q", po::bool_switch(), "no progress on stderr")(
      "verbose", po::bool_switch(), "log what is decided, to stderr")(
      "help,h", po::bool_switch(), "this text")("version", po::bool_switch(), "the version");
  return group;
}

}  // namespace

po::options_description LaunchOptions() {
  po::options_description all;
  return std::move(all.add(SourceOptions()).add(StartOptions()).add(OutputOptions()));
}

std::string LaunchHelpText(const std::string& agent_options) {
  std::ostringstream text;
  text
      << "launch: starts training on the batch that every node has agreed on.\n\n"
         "  launch -- torchrun --nproc-per-node=8 train.py --batch-size {micro_batch}\n"
         "                                     agree (one node needs nothing else), then train\n"
         "  launch --coordinator n1:29400 --nodes 4 -- torchrun --nnodes=4 ... train.py\n"
         "                                     the same on each of four nodes\n"
         "  torchrun --nnodes=1:4 ... --no-python launch --worker -- python train.py\n"
         "                                     each rank asks its node's agent for its own share;\n"
         "                                     a restart of torchrun gets the new world's row\n"
         "  srun launch --worker -- python train.py --batch-size {micro_batch}\n"
         "  mpirun launch --worker -- python train.py\n"
         "  launch --worker --format slurm-task-prolog      in Slurm's TaskProlog\n"
         "  launch --publish /shared                        in an init container of Kubernetes\n"
      << LaunchOptions()
      << "\nPlaceholders of the command: {micro_batch} = {batch}, {accumulation}, {global_batch}; "
         "{{batch}}\nstands for the characters themselves. Variables: AUTOBATCH_MICRO_BATCH, "
         "_ACCUMULATION,\n_GLOBAL_BATCH, _LR_FACTOR, _STEPS_PER_EPOCH, _WORLD_SIZE, _ROUND, "
         "_RUN_ID, _RECORD, _DIGEST;\nwith --worker also _RANK, _WEIGHT and _MICRO_BATCHES (where "
         "micro-steps differ).\n\nExit status: the command's own; 128 + n when signal n ended it; "
         "2 wrong usage; 5 the command\ncannot be started; 7 no agreement, or the record is not "
         "valid; 8 the coordinator or the agent\nis gone; 9 not authorised.\n";
  if (!agent_options.empty()) {
    text << "\nOptions of the agent that launch hosts where there is neither --socket nor "
            "--record:\n"
         << agent_options;
  }
  return text.str();
}

}  // namespace autobatch
