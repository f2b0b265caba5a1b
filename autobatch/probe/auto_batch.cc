#include "autobatch/probe/auto_batch.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/memory/profile_table.h"
#include "autobatch/memory/profile_units.h"
#include "autobatch/memory/ultralytics.h"
#include "autobatch/memory/ultralytics84.h"
#include "autobatch/memory/yolov5.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

constexpr char kBudgetedCpu[] = "cpu-budget:0";

// Strides of the detector's three outputs.
constexpr double kStrides[] = {8, 16, 32};

// Runs the sizes that an estimator asks for, and keeps what came of them.
class Profiler {
 public:
  Profiler(const AutoBatchModel& model, Strategy estimator)
      : model_(model), estimator_(estimator) {}

  Profile Run(const ProfileRequest& request) {
    WorkloadSpec workload = model_.workload;
    workload.image_size = request.image_size;
    if (request.max_num_obj > 0) workload.max_objects = request.max_num_obj;
    if (request.autocast == false) workload.precision = Precision::kFp32;
    const std::unique_ptr<TrialRunner> runner = model_.make_runner(workload);
    const ProfileUnit unit =
        estimator_ == Strategy::kUltralytics84 ? ProfileUnit::kGib : ProfileUnit::kGb;
    Profile profile;
    profile.log.push_back({LogLevel::kInfo, ProfileHeader(unit)});
    for (const int64_t batch : request.batch_sizes) {
      // The originals raise what is no matter of one size; so does the end of our time.
      if (model_.clock.Now() >= model_.deadline) {
        profile.status = absl::DeadlineExceededError("the time limit was up while profiling");
        return profile;
      }
      TrialSpec trial{.purpose = TrialPurpose::kProfile,
                      .batch = batch,
                      .steps = std::max<int64_t>(request.repetitions, 1)};
      if (model_.device.kind == DeviceKind::kCpu) {
        trial.limit_bytes = model_.device.memory.free_bytes;
      }
      const SteadyTime deadline =
          std::min(model_.deadline, Add(model_.clock.Now(), model_.trial_timeout));
      const absl::StatusOr<Observation> seen = runner->Run(trial, deadline, {});
      if (!seen.ok()) {
        profile.status = seen.status();
        return profile;
      }
      observations_.push_back(*seen);
      if (model_.on_trial) model_.on_trial(*seen);
      if (seen->failure.has_value() && seen->failure->kind == FailureKind::kCancelled) {
        profile.status = absl::CancelledError(seen->failure->message);
        return profile;
      }
      if (seen->ok()) {
        profile.memory.push_back(MemoryOf(*seen, request));
      } else {
        profile.memory.push_back(std::nullopt);
      }
      profile.log.push_back({seen->ok() ? LogLevel::kInfo : LogLevel::kWarning,
                             ProfileRow(*seen, profile.memory.back().value_or(0))});
    }
    return profile;
  }

  std::vector<Observation> TakeObservations() { return std::move(observations_); }

 private:
  // The package's own number. Reserved bytes only grow within a trial, so that their peak is what
  // is held after the last step. 8.3 adds predictions that it makes up: our step ran the real loss.
  double MemoryOf(const Observation& seen, const ProfileRequest& request) const {
    const int64_t reserved = seen.PeakReserved();
    switch (estimator_) {
      case Strategy::kUltralytics: {
        const UltralyticsReading reading{.after_step_bytes = reserved};
        return UltralyticsProfiledMemory({&reading, 1});
      }
      case Strategy::kUltralytics84: {
        LossShape loss{.batch = seen.trial.batch, .classes = model_.workload.classes};
        if (model_.workload.name == "yolo") {
          loss.anchors = Anchors(request.image_size, kStrides);
          loss.max_num_obj = request.max_num_obj;
        }
        return Ultralytics84ProfiledMemory(reserved, loss);
      }
      default:
        return Yolov5ProfiledMemory(reserved);
    }
  }

  const AutoBatchModel& model_;
  const Strategy estimator_;
  std::vector<Observation> observations_;
};

SeedReadings ReadingsOf(const AutoBatchModel& model) {
  const MemoryInfo& memory = model.device.memory;
  SeedReadings readings{.device = model.device.address,
                        .name = model.device.name,
                        .total_bytes = memory.total_bytes.value_or(memory.free_bytes.value_or(0)),
                        .free_bytes = memory.free_bytes,
                        .cudnn_benchmark = model.cudnn_benchmark};
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    readings.cuda_visible_devices = visible;
  }
  return readings;
}

// Runs `ask(readings, profile)`, one of the estimators, over real trials.
template <typename Ask>
AutoBatchAnswer Answer(const AutoBatchModel& model, Strategy estimator, Ask ask) {
  Profiler profiler(model, estimator);
  const auto profile = [&](const ProfileRequest& request) { return profiler.Run(request); };
  SeedAnswer answer = ask(ReadingsOf(model), ProfileFunction(profile));
  return {std::move(answer.batch), std::move(answer.log), profiler.TakeObservations()};
}

SeedAnswer NoEstimator(Strategy strategy) {
  return {.batch = absl::InvalidArgumentError(absl::StrCat(
              "'", EnumName(strategy),
              "' is no seed estimator; right would be yolov5, ultralytics or ultralytics-8.4"))};
}

}  // namespace

AutoBatchAnswer AutoBatch(const AutoBatchModel& model, const AutoBatchArguments& arguments) {
  return Answer(model, arguments.estimator,
                [&](const SeedReadings& readings, ProfileFunction profile) -> SeedAnswer {
                  switch (arguments.estimator) {
                    case Strategy::kYolov5: {
                      Yolov5Options options{.image_size = arguments.imgsz,
                                            .default_batch = arguments.batch_size};
                      options.fraction = arguments.fraction.value_or(options.fraction);
                      return Yolov5AutoBatch(options, readings, profile);
                    }
                    case Strategy::kUltralytics: {
                      UltralyticsOptions options{.image_size = arguments.imgsz,
                                                 .default_batch = arguments.batch_size,
                                                 .max_num_obj = arguments.max_num_obj};
                      options.fraction = arguments.fraction.value_or(options.fraction);
                      return UltralyticsAutoBatch(options, readings, profile);
                    }
                    case Strategy::kUltralytics84: {
                      Ultralytics84Options options{.image_size = arguments.imgsz,
                                                   .default_batch = arguments.batch_size,
                                                   .max_num_obj = arguments.max_num_obj,
                                                   .dataset_size = arguments.dataset_size};
                      options.fraction = arguments.fraction.value_or(options.fraction);
                      return Ultralytics84AutoBatch(options, readings, profile);
                    }
                    case Strategy::kConfirm:
                      break;
                  }
                  return NoEstimator(arguments.estimator);
                });
}

AutoBatchAnswer CheckTrainBatchSize(const AutoBatchModel& model,
                                    const CheckTrainBatchSizeArguments& arguments) {
  return Answer(
      model, arguments.estimator,
      [&](const SeedReadings& readings, ProfileFunction profile) -> SeedAnswer {
        switch (arguments.estimator) {
          case Strategy::kYolov5:
            return Yolov5CheckTrainBatchSize(arguments.imgsz, arguments.amp, readings, profile);
          case Strategy::kUltralytics:
            return UltralyticsCheckTrainBatchSize({.image_size = arguments.imgsz,
                                                   .amp = arguments.amp,
                                                   .batch = arguments.batch,
                                                   .max_num_obj = arguments.max_num_obj},
                                                  readings, profile);
          case Strategy::kUltralytics84:
            return Ultralytics84CheckTrainBatchSize({.image_size = arguments.imgsz,
                                                     .amp = arguments.amp,
                                                     .batch = arguments.batch,
                                                     .max_num_obj = arguments.max_num_obj,
                                                     .dataset_size = arguments.dataset_size},
                                                    readings, profile);
          case Strategy::kConfirm:
            break;
        }
        return NoEstimator(arguments.estimator);
      });
}

Device DeviceAsAccelerator(Device device) {
  if (device.kind != DeviceKind::kCpu) return device;
  device.address = kBudgetedCpu;
  // Its budget, not the host's memory, is what there is.
  if (device.memory.free_bytes.has_value()) device.memory.total_bytes = device.memory.free_bytes;
  return device;
}

}  // namespace autobatch
