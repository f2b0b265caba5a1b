#include "orchestrator/plan/record.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

using Wide = absl::int128;

// Names, versions and digests: what they are in use, with room.
constexpr size_t kMaxTextLength = 1024;
// Reasons are sentences of ours.
constexpr size_t kMaxReasonLength = 4096;

absl::Status Wrong(absl::string_view field, const absl::AlphaNum& value, absl::string_view right) {
  return absl::InvalidArgumentError(absl::StrCat("record: ", field, " ", value, ": ", right));
}

absl::Status CheckText(absl::string_view field, absl::string_view text, bool needed) {
  if (needed && text.empty()) return Wrong(field, "", "is empty");
  if (text.size() <= kMaxTextLength) return absl::OkStatus();
  return Wrong(field, absl::StrCat("of ", text.size(), " bytes"),
               absl::StrCat("up to ", kMaxTextLength, " are possible"));
}

absl::Status CheckFacts(const Record& record) {
  if (record.schema != kRecordSchema) {
    return Wrong("schema", absl::StrCat("'", record.schema.substr(0, kMaxTextLength), "'"),
                 absl::StrCat("this version reads '", kRecordSchema, "'"));
  }
  AB_RETURN_IF_ERROR(CheckText("run_id", record.run_id, true));
  AB_RETURN_IF_ERROR(CheckText("autobatch_version", record.autobatch_version, true));
  AB_RETURN_IF_ERROR(CheckText("created", record.created, false));
  AB_RETURN_IF_ERROR(CheckText("config_digest", record.config_digest, false));
  AB_RETURN_IF_ERROR(CheckText("workload", record.workload, false));
  AB_RETURN_IF_ERROR(CheckText("minimum_node", record.minimum_node, !record.fallback));
  AB_RETURN_IF_ERROR(CheckText("minimum_device", record.minimum_device, !record.fallback));
  AB_RETURN_IF_ERROR(CheckText("shares_digest", record.shares_digest, false));
  AB_RETURN_IF_ERROR(CheckText("digest", record.digest, false));
  if (record.round < 1) return Wrong("round", record.round, "the first is 1");
  if (record.minimum_batch < 1 || record.minimum_batch > kMaxSamples) {
    return Wrong("minimum_batch", record.minimum_batch,
                 absl::StrCat("from 1 to ", kMaxSamples, " is possible"));
  }
  if (record.world_size < 1 || record.world_size > kMaxWorldSize) {
    return Wrong("world_size", record.world_size,
                 absl::StrCat("from 1 to ", kMaxWorldSize, " is possible"));
  }
  return absl::OkStatus();
}

// Whether a row does what the request says.
absl::Status CheckRow(const Record& record, const PlanRow& row) {
  const PlanRequest& request = record.request;
  AB_RETURN_IF_ERROR(ValidateRow(row, record.minimum_batch));
  const auto wrong = [&](absl::string_view field, const absl::AlphaNum& value) {
    return Wrong(absl::StrCat("row of world size ", row.world_size, ": ", field), value,
                 "is not what the request asks for");
  };
  if (row.processes != Wide(row.world_size) * request.model_parallel_size) {
    return wrong("processes", row.processes);
  }
  if (!row.devices.empty() && row.world_size != record.world_size) {
    return wrong("devices", row.devices.size());
  }
  const Wide wish = request.global_batch.value_or(0);
  const Wide width =
      Wide(wish) * std::llround(request.band_percent.value_or(0) * 1e6) / 100'000'000;
  const bool kept = request.rule == GlobalBatchRule::kLargest
                        ? !row.devices.empty() || row.global_batch <= Wide(row.world_size) *
                                                                          record.minimum_batch *
                                                                          request.accumulation
                        : row.global_batch >= wish - width && row.global_batch <= wish + width;
  if (!kept || row.global_batch > kMaxSamples) return wrong("global_batch", row.global_batch);
  if (row.steps_per_epoch.has_value() != request.dataset_size.has_value() ||
      Wide(row.steps_per_epoch.value_or(1) - 1) * row.global_batch +
              row.last_step_samples.value_or(0) >
          request.dataset_size.value_or(0)) {
    return wrong("steps_per_epoch", row.steps_per_epoch.value_or(0));
  }
  return absl::OkStatus();
}

absl::Status CheckPlan(const Record& record) {
  AB_RETURN_IF_ERROR(ValidateRequest(record.request));
  const std::vector<PlanRow>& rows = record.plan.rows;
  if (rows.size() > static_cast<size_t>(kMaxPlanRows)) {
    return Wrong("plan.rows", rows.size(), absl::StrCat("up to ", kMaxPlanRows, " are possible"));
  }
  int64_t before = 0;
  bool present = false;
  for (const PlanRow& row : rows) {
    if (row.world_size <= before || row.world_size > kMaxWorldSize) {
      return Wrong("plan.rows", row.world_size, "is no world size above the row's before it");
    }
    before = row.world_size;
    present |= row.world_size == record.world_size;
    AB_RETURN_IF_ERROR(CheckRow(record, row));
  }
  if (!present) return Wrong("plan.rows", record.world_size, "the present world size has no row");
  for (const Unserved& unserved : record.plan.unserved) {
    if (unserved.first < 1 || unserved.last < unserved.first || unserved.last > kMaxWorldSize ||
        unserved.reason.empty() || unserved.reason.size() > kMaxReasonLength) {
      return Wrong("plan.unserved", absl::StrCat(unserved.first, " to ", unserved.last),
                   "is no range of world sizes with a reason");
    }
  }
  return absl::OkStatus();
}

// Every byte is looked at: how long this takes is not to tell how much of a guess was right.
bool SameDigest(absl::string_view a, absl::string_view b) {
  unsigned difference = a.size() == b.size() && !a.empty() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

// Whether the text is what its own digest was made from: the text with an empty digest.
absl::Status VerifyDigest(absl::string_view text, const boost::json::value& record,
                          const DigestFunction& digest) {
  const boost::json::value* const field =
      record.is_object() ? record.get_object().if_contains("digest") : nullptr;
  if (field == nullptr || !field->is_string()) {
    return absl::InvalidArgumentError("record: it has no digest");
  }
  const absl::string_view found(field->get_string().data(), field->get_string().size());
  // As it is sent, the digest stands last.
  constexpr absl::string_view kEnd = "\"}";
  if (absl::EndsWith(text, absl::StrCat("\"digest\":\"", found, kEnd))) {
    const absl::string_view before = text.substr(0, text.size() - found.size() - kEnd.size());
    if (SameDigest(digest(absl::StrCat(before, kEnd)), found)) return absl::OkStatus();
  }
  // Somebody may have stored it otherwise.
  boost::json::value copy = record;
  copy.get_object()["digest"].emplace_string();
  if (SameDigest(digest(boost::json::serialize(copy)), found)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "the record's digest is not that of its content: it is damaged, was changed, or belongs to "
      "another run");
}

}  // namespace

absl::StatusOr<Record> MakeRecord(Record facts, const std::vector<DeviceShare>& shares,
                                  const DigestFunction& digest) {
  AB_ASSIGN_OR_RETURN(facts.plan, MakePlan(facts.request, {.world_size = facts.world_size,
                                                           .minimum_batch = facts.minimum_batch,
                                                           .shares = shares}));
  AB_RETURN_IF_ERROR(ValidateRecord(facts));
  facts.digest.clear();
  facts.digest = digest(RecordText(facts));
  return facts;
}

std::string RecordText(const Record& record) { return ToJson(record); }

absl::StatusOr<Record> ReadRecord(absl::string_view text, const DigestFunction& digest) {
  AB_ASSIGN_OR_RETURN(const boost::json::value json, ParseJson(text));
  AB_RETURN_IF_ERROR(VerifyDigest(text, json, digest));
  AB_ASSIGN_OR_RETURN(Record record, FromJsonValue<Record>(json));
  AB_RETURN_IF_ERROR(ValidateRecord(record));
  return record;
}

absl::Status ValidateRecord(const Record& record) {
  AB_RETURN_IF_ERROR(CheckFacts(record));
  return CheckPlan(record);
}

std::string SharesDigest(std::span<const NodeShares> shares, const DigestFunction& digest) {
  std::vector<NodeShares> ordered(shares.begin(), shares.end());
  for (NodeShares& node : ordered) {
    std::sort(node.shares.begin(), node.shares.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.uuid < b.uuid; });
  }
  std::sort(ordered.begin(), ordered.end(),
            [](const NodeShares& a, const NodeShares& b) { return a.node < b.node; });
  return digest(ToJson(ordered));
}

}  // namespace autobatch
