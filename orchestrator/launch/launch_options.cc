#include "orchestrator/launch/launch_options.h"

#include <set>
#include <sstream>
#include <utility>

#include "autobatch/probe/command_line_options.h"
#include "autobatch/probe/flag_group.h"
#include "orchestrator/service/agent_flags.h"
#include "orchestrator/service/coordinator_flags.h"
#include "orchestrator/service/plan_flags.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

po::options_description SourceOptions() {
  return FlagGroup("Where the record comes from (none of these: agree here)")
      .Value("socket", "PATH",
             "with --worker: ask this node's agent (default: $AUTOBATCH_SOCKET); else where the "
             "agent hosted here listens for workers")
      .Value("record", "FILE",
             "the committed record in a file, such as one on a shared volume; with --worker the "
             "default is $AUTOBATCH_RECORD")
      .Value("run-id", "NAME",
             "which run it has to be (default: $AUTOBATCH_RUN_ID, else the launcher's)")
      .Value("secret-file", "FILE", "the run's secret, which seals the record")
      .Value("secret-fd", "N", "the same, from an inherited descriptor")
      .Value("wait", "T", "for an agent that has no record yet, such as 90s or 10m (default: 10m)");
}

po::options_description StartOptions() {
  return FlagGroup("What is started")
      .Switch("worker", "this is one rank: take its share and become the command")
      .Value("world-size", "N",
             "ranks that the command starts, on all nodes (default: torchrun's, accelerate's or "
             "DeepSpeed's own, else the record's)")
      .Switch("allow-simulated", "start on a record of simulated devices")
      .Value("fallback-batch", "N",
             "where there is no agreement, start on this batch, which nothing has run (default: do "
             "not)")
      .Value("when-world-changes", "P",
             "a new round while the command runs: keep it, restart it on the new record, or stop "
             "it (default: keep an elastic torchrun, whose workers ask again; else stop)")
      .Value("grace", "T",
             "from SIGTERM to SIGKILL for what the command leaves behind (default: 10s)")
      .Value(
          "interface", "NAME|NETWORK,…",
          "for the ranks' own traffic: eth0, or the one with an address in 10.1.0.0/16; exported "
          "as NCCL, Gloo and TensorPipe each want it (default: what they choose)");
}

po::options_description HostOptions() {
  return FlagGroup("Agreeing here: this program is the node's agent")
      .Value("coordinator", "HOST[:PORT],…",
             "where it is (default: the launcher's rank 0, else the first host of the job; it is "
             "hosted here if that is this node, or the only one)")
      .Switch("host-coordinator",
              "host it here, where no launcher says which node is the first; the others then need "
              "--coordinator")
      .Value("min-nodes", "N", "fewer nodes never train (default: the command's or --max-nodes)")
      .Value("max-nodes", "N",
             "with so many a round starts at once (default: the command's, else the launcher's)")
      .Value("probe", "COMMAND",
             "what one training step is: your program with {batch} and {steps}, quoted as one word "
             "(default: --workload)");
}

po::options_description OutputOptions() {
  return FlagGroup("Output")
      .Value("format", "F",
             "instead of a command, write to stdout: json, env (lines for a shell), or "
             "slurm-task-prolog (export lines and nothing else)")
      .Value("publish", "DIR",
             "instead of a command, write record.json and launch.json to this folder and end: a "
             "Kubernetes init container")
      .Switch("quiet,q", "no progress on stderr")
      .HelpAndVersion();
}

}  // namespace

po::options_description LaunchOptions() {
  po::options_description all;
  return std::move(
      all.add(SourceOptions()).add(StartOptions()).add(HostOptions()).add(OutputOptions()));
}

po::options_description HostedPlanOptions() {
  const auto group =
      FlagGroup("What the coordinator hosted here agrees on")
          .Value("failed-device", "P", "a device without a batch: fail or exclude (default: fail)")
          .Value("nccl", "M",
                 "take the minimum by NCCL too: off, prefer or require (default: off)");
  po::options_description all;
  return std::move(all.add(group).add(PlanOptions()));
}

po::options_description HostedCoordinatorOptions() {
  const auto group =
      FlagGroup("The coordinator hosted here")
          .Value("bind", "ADDRESS",
                 "one address of this machine (default: all; 127.0.0.1 for a single node)")
          .Value("port", "PORT[-PORT]",
                 "the first free one (default: one made of the run id, as agents expect it)")
          .Value("advertise-address", "HOST[:PORT]",
                 "where other nodes reach it, if that is not what it binds (default: its address "
                 "on the network)");
  po::options_description all;
  return std::move(all.add(group).add(CoordinatorLimits()));
}

po::options_description AllLaunchOptions() {
  po::options_description all = LaunchOptions();
  all.add(HostedPlanOptions()).add(HostedCoordinatorOptions());
  std::set<std::string> known;
  for (const auto& option : all.options()) known.insert(option->long_name());
  FlagGroup agent("The agent hosted here");
  po::options_description theirs = AgentOptions();
  theirs.add(ProbeOptions());
  for (const auto& option : theirs.options()) {
    if (known.count(option->long_name()) == 0) agent.add(option);
  }
  return std::move(all.add(agent));
}

std::string LaunchHelpText() {
  std::ostringstream text;
  text
      << "launch: starts training on the batch that every node has agreed on.\n\n"
         "  launch -- torchrun --nproc-per-node=8 train.py --batch-size {micro_batch}\n"
         "                                     agree (one node needs nothing else), then train\n"
         "  launch --secret-file s --coordinator n1 -- torchrun --nnodes=4 ... train.py\n"
         "                                     the same on each of four nodes\n"
         "  launch --probe 'python train.py --batch-size {batch} --steps {steps}' -- torchrun ...\n"
         "                                     a step of your own program is what is probed\n"
         "  torchrun --nnodes=1:4 ... --no-python launch --worker -- python train.py\n"
         "                                     each rank asks its node's agent for its own share;\n"
         "                                     a restart of torchrun gets the new world's row\n"
         "  srun launch --worker -- python train.py --batch-size {micro_batch}\n"
         "  mpirun launch --worker -- python train.py\n"
         "  launch --worker --format slurm-task-prolog      in Slurm's TaskProlog\n"
         "  launch --publish /shared                        in an init container of Kubernetes\n"
      << AllLaunchOptions()
      << "\nPlaceholders of the command: {micro_batch} = {batch}, {accumulation}, {global_batch}; "
         "{{batch}}\nstands for the characters themselves. Variables: AUTOBATCH_MICRO_BATCH, "
         "_ACCUMULATION,\n_GLOBAL_BATCH, _LR_FACTOR, _STEPS_PER_EPOCH, _WORLD_SIZE, _ROUND, "
         "_RUN_ID, _RECORD, _DIGEST;\nwith --worker also _RANK, _WEIGHT and _MICRO_BATCHES (where "
         "micro-steps differ).\n\nExit status: the command's own; 128 + n when signal n ended it; "
         "2 wrong usage; 5 the command\ncannot be started; 7 no agreement, or the record is not "
         "valid; 8 the coordinator or the agent\nis gone; 9 not authorised.\n";
  return text.str();
}

}  // namespace autobatch
