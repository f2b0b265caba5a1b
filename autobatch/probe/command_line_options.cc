#include "autobatch/probe/command_line_options.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/probe/flag_group.h"
#include "autobatch/simcuda/faults.h"
#include "autobatch/types/builtin_workloads.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

po::options_description WorkloadOptions() {
  return FlagGroup("What one training step is")
      .Value("workload", "NAME|FILE",
             "a built-in model (below) or a TorchScript file (default: resnet18)")
      .Value("precision", "P",
             "fp32, amp_fp16 (with loss scaling) or amp_bf16 (default: fp32 on the CPU, amp_fp16 "
             "on a GPU)")
      .Value("optimizer", "O", "sgd, momentum, adam or adamw (default: momentum)")
      .Value("zero-grad", "Z", "what zero_grad leaves: none or zero (default: none)")
      .Switch("ema", "keep an exponential moving average of the parameters")
      .Switch("channels-last", "NHWC memory layout")
      .Switch("cudnn-benchmark", "let cuDNN time its algorithms")
      .Value("image-size", "PX", "pixels a side (default: 224)")
      .Value("sequence-length", "N", "tokens a sample (default: 1024)")
      .Value("classes", "N", "classes (default: 1000)")
      .Value("max-objects", "N", "objects in the detector's worst image (default: 100)")
      .Value("eval-batch", "N",
             "samples of the evaluation step; 0: none (default: the training batch)")
      .Values("input", "SPEC",
              "TorchScript: one input without its batch dimension, such as float32:3x224x224 or "
              "int64:128:0..50257; once for each")
      .Value("target", "SPEC", "TorchScript: what the loss compares with, such as int64::0..1000")
      .Value("loss", "L",
             "TorchScript: cross_entropy, mse, bce_with_logits, mean, or output (default: "
             "cross_entropy)");
}

po::options_description DeviceOptions() {
  return FlagGroup("Devices and memory")
      .Value("device", "LIST",
             "cuda, cuda:0,2 (numbers as CUDA_VISIBLE_DEVICES leaves them), cpu, or simulated "
             "cards, such "
             "as sim:rtx3090 (below) (default: every visible GPU, else the CPU)")
      .Value("scope", "S",
             "what one trial of a command runs on: device (each by itself) or node (all at once, "
             "as torchrun trains) (default: device)")
      .Value("parallel", "N", "devices probed at the same time; 0: all (default: 0)")
      .Value(
          "memory-limit", "SIZE",
          "as if no more than this were free, such as 8GiB; the CPU takes at most 2 GiB without it")
      .Value("headroom", "SIZE|%",
             "held back on top of everything measured, such as 1GiB or 5% (default: the larger of "
             "256 MiB and 2 %)")
      .Value("communicator", "SIZE", "held back for NCCL (default: 0 for one rank, else 1GiB)")
      .Value("world-size", "N", "ranks of the data-parallel job (default: the devices probed)");
}

po::options_description SearchOptions() {
  return FlagGroup("The search")
      .Value(
          "strategy", "S",
          "confirm, or a seed estimator: yolov5, ultralytics, ultralytics-8.4 (default: confirm)")
      .Value("fraction", "F",
             "share of the device that a seed estimator aims at (default: the original's)")
      .Switch("confirm", "run a seed estimator's answer too; without it the answer is an estimate")
      .Value("max-batch", "N", "never answer more (default: 65536)")
      .Value("dataset-size", "N", "samples in the data set; caps the batch at one rank's share")
      .Value("multiple-of", "N", "round the answer down to a multiple, then confirm that")
      .Switch("power-of-two", "round the answer down to a power of two, then confirm that")
      .Value("tolerance", "F", "how close to the true maximum, as a fraction (default: 0.03)")
      .Switch("throughput-knee", "stop where a larger batch trains no more samples a second")
      .Value("steps", "N", "steps of an exploring trial, at least 3 (default: 3)")
      .Value("confirm-steps", "N", "steps of the confirming trial, at least 4 (default: 8)")
      .Value("accumulation", "N",
             "micro-steps in each optimizer step of the confirming trial (default: 1)")
      .Value("time-limit", "T",
             "for each device, such as 90s or 5m (default: 120s on the CPU, none on a GPU)")
      .Value("trial-timeout", "T", "a trial that takes longer is hung (default: 10m)")
      .Value("seed", "N", "of the synthetic data (default: 0)");
}

po::options_description OutputOptions() {
  return FlagGroup("Output")
      .Value("format", "F",
             "what stdout gets: table, json, or env (lines for eval) (default: table)")
      .Value("json", "FILE|-", "write the whole report, every trial included; - is stdout")
      .Value("html", "FILE", "write a page with the memory-against-batch plot of each device")
      .Switch("quiet,q", "no banner and no progress on stderr; warnings stay")
      .Switch("no-cache", "do not use or keep earlier answers")
      .Value("cache-dir", "DIR", "where they are (default: $XDG_CACHE_HOME/autobatch/results)")
      .HelpAndVersion();
}

std::string SimulatedHelp() {
  return absl::StrCat(
      "\nSimulated devices (--device sim:LIST), which every output names so. Kernels do nothing, "
      "so that a\nprogram that checks what it computed fails there; losses read 0, times are the "
      "host's:\n"
      "  rtx3090,a100-80                 cards by their names (simcuda --list)\n"
      "  h100-80:count=8                 eight of them\n"
      "  rtx3090:used=4GiB               others hold 4 GiB of it\n"
      "  a100-80:mig=3g.40gb+2g.20gb     in MIG mode\n"
      "  custom:memory=24GiB:sm=8.6      one of your own; also context=SIZE, multiprocessors=N, "
      "name=TEXT\n"
      "  AUTOBATCH_SIM_DRIVER=12.4       the newest CUDA that the driver knows\n"
      "  AUTOBATCH_SIM_READ_BACK=RULES   what counts in the data read as, such as NonZeroOp=70\n"
      "  AUTOBATCH_SIM_CALIBRATION=FILE  measured parts of the memory model\n"
      "  AUTOBATCH_SIM_FAULTS=A;B        faults on demand, in each process that uses a device:\n",
      std::string(simcuda::FaultHelp()));
}

}  // namespace

po::options_description ProbeOptions() {
  po::options_description all;
  return std::move(all.add(WorkloadOptions()).add(DeviceOptions()).add(SearchOptions()));
}

po::options_description AllOptions() {
  po::options_description all = ProbeOptions();
  return std::move(all.add(OutputOptions()));
}

std::string HelpText() {
  std::ostringstream text;
  text << "probe: the largest batch that a training step can safely take, on every device of this "
          "node.\n\n"
          "It runs real steps (forward, loss, backward, optimizer) at growing batch sizes, each in "
          "a child\nprocess under a hard memory limit, and answers only with a batch that it "
          "ran.\n\n"
          "  probe                                        resnet18 on every visible GPU, else the "
          "CPU\n"
          "  probe --workload gpt2 --optimizer adamw      another model\n"
          "  probe --workload model.pt --input float32:3x640x640 --target int64::0..80\n"
          "  probe -- python train.py --batch-size {batch} --steps {steps}\n"
          "                                               your own program, whatever it is written "
          "in\n"
          "  probe --scope node -- torchrun --nproc-per-node=2 train.py --batch {batch}\n"
          "                                               all GPUs at once, as it trains (DDP, "
          "FSDP)\n"
          "  probe --device sim:rtx3090,a100-80 -- python train.py --batch {batch}\n"
          "                                               on GPUs that are not there\n"
          "  probe --format env --quiet                   lines for a launch script to eval\n"
          "  probe --json report.json --html report.html  everything that was measured\n"
       << AllOptions()
       << "\nA command of your own (everything behind '--', started without a shell, once a "
          "trial):\n"
          "  {batch}, {micro_batch}   samples of a micro-step: what is looked for\n"
          "  {accumulation}           micro-steps of an optimizer step\n"
          "  {global_batch}           {batch} x {accumulation} x ranks\n"
          "  {steps}                  optimizer steps after which it should end\n"
          "  {device}                 cuda:0 or cpu: the one device that it sees; cuda if it sees "
          "all\n"
          "  {seed}                   as --seed\n"
          "  {output_dir}             an empty folder, removed after the trial\n"
          "  {{name}} stands for {name} itself. A script that uses the Python package autobatch "
          "(see\n"
          "  tools/python) measures itself; any other is watched: its exit, its words on stderr, "
          "and\n"
          "  its memory, on a GPU by a preload that counts and limits its allocations. Loggers of\n"
          "  experiments are kept offline.\n"
       << SimulatedHelp() << "\nBuilt-in models:\n";
  for (const BuiltinWorkload& workload : BuiltinWorkloads()) {
    text << "  " << workload.name
         << std::string(12 - std::min<size_t>(11, workload.name.size()), ' ')
         << workload.description << "\n";
  }
  text << "\nExit status:\n"
          "  0  a batch for every device            5  the workload cannot run\n"
          "  1  internal error, or output lost      6  time was up before any batch was confirmed\n"
          "  2  wrong usage                         128 + n  ended by signal n (partial result "
          "printed)\n"
          "  3  no device                           4  nothing fits\n";
  return text.str();
}

}  // namespace autobatch
