#include "tests/vectors/elasticity_form.h"

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/plan/elasticity.h"

namespace autobatch {
namespace {

struct Raised {
  std::string type;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(Raised, (), (type, message))

struct ElasticityVector {
  int64_t world_size = 0;
  bool return_microbatch = false;
  std::optional<int64_t> final_batch_size;
  std::optional<std::vector<int64_t>> valid_gpus;
  std::optional<int64_t> micro_batch;
  // 2 without a micro-batch, 3 with one, 0 where it raised.
  int64_t returned_values = 0;
  std::optional<Raised> error;
};
BOOST_DESCRIBE_STRUCT(ElasticityVector, (),
                      (world_size, return_microbatch, final_batch_size, valid_gpus, micro_batch,
                       returned_values, error))

// Whether the original's answer is one that a job can be started with.
bool IsUsable(const ElasticityVector& vector, const ElasticityConfig& config) {
  return !vector.error.has_value() && vector.valid_gpus.has_value() &&
         vector.final_batch_size.value_or(0) >= 1 &&
         static_cast<double>(*vector.final_batch_size) <= config.max_train_batch_size &&
         (vector.returned_values != 3 || vector.micro_batch.has_value());
}

absl::StatusOr<Differences> Check(const boost::json::object& line) {
  AB_ASSIGN_OR_RETURN(const ElasticityVector vector, ReadVector<ElasticityVector>(line));
  const absl::StatusOr<ElasticityConfig> config =
      ReadElasticityConfig(boost::json::object{{"elasticity", line.at("elasticity")}});
  const absl::StatusOr<ElasticBatch> answer =
      config.ok() ? ComputeElasticBatch(*config, vector.world_size, vector.return_microbatch)
                  : absl::StatusOr<ElasticBatch>(config.status());
  Differences differences;
  const bool usable = !vector.error.has_value() && (!config.ok() || IsUsable(vector, *config));
  if (usable != answer.ok()) {
    differences.Add("error",
                    vector.error.has_value() ? vector.error->message
                    : usable                 ? "none"
                                             : "one, for the answer cannot be used",
                    answer.ok() ? "none" : std::string(answer.status().message()));
  }
  if (!usable || !answer.ok()) return differences;
  differences.Expect("final_batch_size", *vector.final_batch_size, answer->global_batch);
  differences.Expect("valid_gpus", *vector.valid_gpus, answer->valid_gpus);
  differences.Expect("micro_batch", vector.micro_batch, answer->micro_batch);
  return differences;
}

}  // namespace

Form ElasticityForm() {
  return {[](const boost::json::object& line) { return line.contains("elasticity"); }, Check};
}

}  // namespace autobatch
