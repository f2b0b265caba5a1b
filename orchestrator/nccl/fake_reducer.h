#ifndef AUTOBATCH_NCCL_FAKE_REDUCER_H_
#define AUTOBATCH_NCCL_FAKE_REDUCER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "orchestrator/nccl/reducer.h"

namespace autobatch {

// A fake: functions say what comes of it. No process, no time. The functions may be called from any
// thread.
//
//   FakeReducer reducer;
//   reducer.reduce = [](const ReduceRequest& request) -> absl::StatusOr<ReduceAnswer> {
//     return ReduceAnswer{.minimum = 12};
//   };
class FakeReducer final : public Reducer {
 public:
  // What MakeUniqueId gives out.
  absl::StatusOr<std::string> unique_id = std::string(256, 'a');
  std::function<absl::StatusOr<ReduceAnswer>(const ReduceRequest&)> reduce =
      [](const ReduceRequest&) { return absl::FailedPreconditionError("no NCCL: a fake"); };

  absl::StatusOr<std::unique_ptr<UniqueIdHolder>> MakeUniqueId(
      SteadyTime, const CancelSignal& cancel) override {
    if (cancel.IsSet()) return absl::CancelledError("cancelled");
    if (!unique_id.ok()) return unique_id.status();
    return std::make_unique<Holder>(*unique_id);
  }

  absl::StatusOr<ReduceAnswer> Reduce(const ReduceRequest& request, SteadyTime,
                                      const CancelSignal& cancel) override {
    if (cancel.IsSet()) return absl::CancelledError("cancelled");
    return reduce(request);
  }

 private:
  class Holder final : public UniqueIdHolder {
   public:
    explicit Holder(std::string id) : id_(std::move(id)) {}
    const std::string& unique_id() const override { return id_; }

   private:
    const std::string id_;
  };
};

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_FAKE_REDUCER_H_
