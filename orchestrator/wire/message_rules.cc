#include "orchestrator/wire/message_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/device.h"
#include "autobatch/types/place.h"
#include "orchestrator/plan/device_outcome.h"

namespace autobatch {
namespace {

constexpr int64_t kMaxHeartbeatMs = 3'600'000;
constexpr size_t kShown = 40;  // bytes of a bad value that an error repeats

std::string Shown(absl::string_view text) {
  const std::string escaped = absl::CHexEscape(text.substr(0, kShown));
  return absl::StrCat("\"", escaped, text.size() > kShown ? "…\"" : "\"");
}

absl::Status Bad(const Place& field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field.ToString(), ": ", what));
}

absl::Status Number(const Place& field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Bad(field, absl::StrCat(value, " is not within ", low, " to ", high));
}

absl::Status Number(const Place& field, const std::optional<int64_t>& value, int64_t low,
                    int64_t high) {
  return value.has_value() ? Number(field, *value, low, high) : absl::OkStatus();
}

// A table: names are most of what is read.
constexpr std::array<bool, 256> kNameCharacters = [] {
  std::array<bool, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
  for (const char c : absl::string_view("0123456789-_.:/@+#=%[]"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

absl::Status NameOrEmpty(const Place& field, absl::string_view name) {
  if (name.size() > kMaxName) {
    return Bad(field, absl::StrCat(Shown(name), " has ", name.size(), " bytes; ", kMaxName,
                                   " are allowed"));
  }
  for (const char c : name) {
    if (!kNameCharacters[static_cast<unsigned char>(c)]) {
      return Bad(field, absl::StrCat(Shown(name), " has characters other than letters, digits and ",
                                     "-_.:/@+#=%[]"));
    }
  }
  return absl::OkStatus();
}

absl::Status Name(const Place& field, absl::string_view name) {
  if (name.empty()) return Bad(field, "is empty");
  return NameOrEmpty(field, name);
}

// Bytes of the UTF-8 character at the front of `text` that may stand in a text; 0: none.
size_t PlainCharacter(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return first == '\t' || (first >= 0x20 && first != 0x7f) ? 1 : 0;
  }
  const size_t size = first >= 0xf0 && first < 0xf5   ? 4
                      : first >= 0xe0 && first < 0xf0 ? 3
                      : first >= 0xc2 && first < 0xe0 ? 2
                                                      : 0;
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than needed, surrogates, beyond Unicode; and the control characters U+0080 to U+009F.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) >= 0xa0) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) >= 0x90) return 0;
  if (first == 0xc2 && byte(1) < 0xa0) return 0;
  return size;
}

bool IsPlain(absl::string_view text) {
  while (true) {
    // Mostly that is all.
    const auto end = std::find_if(text.begin(), text.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f;
    });
    text.remove_prefix(static_cast<size_t>(end - text.begin()));
    if (text.empty()) return true;
    const size_t size = PlainCharacter(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
}

absl::Status Text(const Place& field, absl::string_view text) {
  if (text.size() > kMaxText) {
    return Bad(field, absl::StrCat(text.size(), " bytes; ", kMaxText, " are allowed"));
  }
  if (!IsPlain(text)) {
    return Bad(field, absl::StrCat(Shown(text), " has control characters"));
  }
  return absl::OkStatus();
}

absl::Status Count(const Place& field, size_t count, size_t limit) {
  if (count <= limit) return absl::OkStatus();
  return Bad(field, absl::StrCat(count, " entries; ", limit, " are allowed"));
}

absl::Status Settings(const Place& list, const std::vector<NamedValue>& settings) {
  AB_RETURN_IF_ERROR(Count(list, settings.size(), kMaxSettings));
  for (size_t i = 0; i < settings.size(); ++i) {
    const Place setting(list, i);
    AB_RETURN_IF_ERROR(Name({setting, "name"}, settings[i].name));
    AB_RETURN_IF_ERROR(Text({setting, "value"}, settings[i].value));
  }
  return absl::OkStatus();
}

absl::Status Names(const Place& list, const std::vector<std::string>& names) {
  AB_RETURN_IF_ERROR(Count(list, names.size(), kMaxNames));
  for (size_t i = 0; i < names.size(); ++i) {
    AB_RETURN_IF_ERROR(Text({list, i}, names[i]));
  }
  return absl::OkStatus();
}

// What every message starts with; `first` is the least round that makes sense in it.
template <typename T>
absl::Status Head(const T& message, int64_t first) {
  AB_RETURN_IF_ERROR(Name("run_id", message.run_id));
  return Number("round", message.round, first, kMaxRound);
}

template <typename T>
absl::Status HeadAndDigest(const T& message) {
  AB_RETURN_IF_ERROR(Head(message, 1));
  return Name("digest", message.digest);
}

absl::Status Hexadecimal(const Place& field, absl::string_view text) {
  if (text.size() > kMaxUniqueId) {
    return Bad(field, absl::StrCat(text.size(), " bytes; ", kMaxUniqueId, " are allowed"));
  }
  for (const char c : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
      return Bad(field, absl::StrCat(Shown(text), " is not hexadecimal"));
    }
  }
  return absl::OkStatus();
}

absl::Status Outcome(const Place& place, const DeviceOutcome& device) {
  AB_RETURN_IF_ERROR(Name({place, "uuid"}, device.uuid));
  AB_RETURN_IF_ERROR(Text({place, "address"}, device.address));
  AB_RETURN_IF_ERROR(Text({place, "name"}, device.name));
  AB_RETURN_IF_ERROR(Number({place, "total_bytes"}, device.total_bytes, 0, kMaxBytes));
  AB_RETURN_IF_ERROR(Count({place, "others"}, device.others.size(), kMaxProcesses));
  for (size_t i = 0; i < device.others.size(); ++i) {
    const ProcessUse& use = device.others[i];
    const Place list(place, "others");
    const Place process(list, i);
    AB_RETURN_IF_ERROR(Number({process, "pid"}, use.pid, 0, kMaxRound));
    AB_RETURN_IF_ERROR(Number({process, "bytes"}, use.bytes, 0, kMaxBytes));
    AB_RETURN_IF_ERROR(Text({process, "name"}, use.name));
  }
  AB_RETURN_IF_ERROR(Number({place, "batch"}, device.batch, 0, kMaxMicroBatch));
  return Text({place, "message"}, device.message);
}

absl::Status LauncherNumbers(const LauncherClaims& facts) {
  AB_RETURN_IF_ERROR(NameOrEmpty("launcher.launcher", facts.launcher));
  AB_RETURN_IF_ERROR(Number("launcher.world_size", facts.world_size, 1, kMaxWorld));
  AB_RETURN_IF_ERROR(Number("launcher.node_count", facts.node_count, 1, kMaxWorld));
  return Number("launcher.local_world_size", facts.local_world_size, 1, kMaxWorld);
}

void MakePlain(std::string& text) {
  if (text.size() > kMaxText || !IsPlain(text)) text = PlainText(text);
}

void MakePlain(std::vector<NamedValue>& settings) {
  for (NamedValue& setting : settings) MakePlain(setting.value);
}

// A list that was cut says so.
void MakePlain(std::vector<std::string>& names) {
  if (names.size() > kMaxNames) {
    const size_t more = names.size() - (kMaxNames - 1);
    names.resize(kMaxNames - 1);
    names.push_back(absl::StrCat("and ", more, " more"));
  }
  for (std::string& name : names) MakePlain(name);
}

}  // namespace

std::string PlainText(absl::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t size = PlainCharacter(text);
    if (plain.size() + (size > 0 ? size : 1) > kMaxText) break;
    if (size > 0) {
      plain.append(text.data(), size);
    } else {
      plain += text[0] == '\n' ? ' ' : '?';
    }
    text.remove_prefix(size > 0 ? size : 1);
  }
  return plain;
}

void MakePlain(AgentHello& hello) {
  for (AnnouncedDevice& device : hello.devices) MakePlain(device.name);
  MakePlain(hello.config);
  MakePlain(hello.versions);
  MakePlain(hello.workload);
}

void MakePlain(Report& report) {
  for (DeviceOutcome& device : report.devices) {
    if (device.others.size() > kMaxProcesses) device.others.resize(kMaxProcesses);
    for (ProcessUse& use : device.others) MakePlain(use.name);
    MakePlain(device.address);
    MakePlain(device.name);
    MakePlain(device.message);
  }
  MakePlain(report.summary);
}

void MakePlain(ReduceResult& result) { MakePlain(result.failure); }

void MakePlain(Leave& leave) { MakePlain(leave.reason); }

void MakePlain(Progress& progress) {
  MakePlain(progress.missing);
  MakePlain(progress.text);
}

void MakePlain(Abort& abort) {
  MakePlain(abort.missing);
  MakePlain(abort.reason);
}

void MakePlain(Refuse& refuse) { MakePlain(refuse.reason); }

absl::Status Validate(const AgentHello& hello) {
  AB_RETURN_IF_ERROR(Head(hello, 0));
  AB_RETURN_IF_ERROR(Name("agent", hello.agent));
  AB_RETURN_IF_ERROR(Name("incarnation", hello.incarnation));
  AB_RETURN_IF_ERROR(Name("boot_id", hello.boot_id));
  AB_RETURN_IF_ERROR(Number("node_rank", hello.node_rank, 0, kMaxWorld - 1));
  const Place devices("devices");
  AB_RETURN_IF_ERROR(Count(devices, hello.devices.size(), kMaxDevices));
  for (size_t i = 0; i < hello.devices.size(); ++i) {
    const Place place(devices, i);
    const AnnouncedDevice& device = hello.devices[i];
    AB_RETURN_IF_ERROR(Name({place, "uuid"}, device.uuid));
    AB_RETURN_IF_ERROR(Text({place, "name"}, device.name));
    AB_RETURN_IF_ERROR(Number({place, "total_bytes"}, device.total_bytes, 0, kMaxBytes));
  }
  AB_RETURN_IF_ERROR(LauncherNumbers(hello.launcher));
  AB_RETURN_IF_ERROR(Settings("config", hello.config));
  AB_RETURN_IF_ERROR(NameOrEmpty("config_digest", hello.config_digest));
  AB_RETURN_IF_ERROR(Settings("versions", hello.versions));
  AB_RETURN_IF_ERROR(NameOrEmpty("prepared_digest", hello.prepared_digest));
  AB_RETURN_IF_ERROR(NameOrEmpty("committed_digest", hello.committed_digest));
  return Text("workload", hello.workload);
}

absl::Status Validate(const Report& report) {
  AB_RETURN_IF_ERROR(Head(report, 1));
  const Place devices("devices");
  AB_RETURN_IF_ERROR(Count(devices, report.devices.size(), kMaxDevices));
  for (size_t i = 0; i < report.devices.size(); ++i) {
    AB_RETURN_IF_ERROR(Outcome({devices, i}, report.devices[i]));
  }
  AB_RETURN_IF_ERROR(Number("communicator_bytes", report.communicator_bytes, 0, kMaxBytes));
  return Text("summary", report.summary);
}

absl::Status Validate(const Heartbeat& heartbeat) {
  AB_RETURN_IF_ERROR(Head(heartbeat, 0));
  return Number("sequence", heartbeat.sequence, 0, kMaxRound);
}

absl::Status Validate(const ReduceId& id) {
  AB_RETURN_IF_ERROR(Head(id, 1));
  AB_RETURN_IF_ERROR(Number("attempt", id.attempt, 1, kMaxRound));
  if (id.unique_id.empty()) return Bad("unique_id", "is empty");
  return Hexadecimal("unique_id", id.unique_id);
}

absl::Status Validate(const ReduceResult& result) {
  AB_RETURN_IF_ERROR(Head(result, 1));
  AB_RETURN_IF_ERROR(Number("attempt", result.attempt, 1, kMaxRound));
  // Any number may come out of a reduction that went wrong; core compares it.
  if (result.minimum.has_value() != result.failure.empty()) {
    return Bad("minimum", "is there exactly if there is no failure");
  }
  AB_RETURN_IF_ERROR(Number("communicator_bytes", result.communicator_bytes, 0, kMaxBytes));
  return Text("failure", result.failure);
}

absl::Status Validate(const Prepared& prepared) { return HeadAndDigest(prepared); }

absl::Status Validate(const Committed& committed) { return HeadAndDigest(committed); }

absl::Status Validate(const Leave& leave) {
  AB_RETURN_IF_ERROR(Head(leave, 0));
  return Text("reason", leave.reason);
}

absl::Status Validate(const Welcome& welcome) {
  AB_RETURN_IF_ERROR(Head(welcome, 0));
  AB_RETURN_IF_ERROR(Number("heartbeat_ms", welcome.heartbeat_ms, 1, kMaxHeartbeatMs));
  AB_RETURN_IF_ERROR(Number("lost_after", welcome.lost_after, 1, kMaxHeartbeatMs));
  AB_RETURN_IF_ERROR(Number("lease_ms", welcome.lease_ms, 0, kMaxHeartbeatMs * 1000));
  return NameOrEmpty("standing_digest", welcome.standing_digest);
}

absl::Status Validate(const Progress& progress) {
  AB_RETURN_IF_ERROR(Head(progress, 0));
  AB_RETURN_IF_ERROR(Number("have", progress.have, 0, kMaxWorld));
  AB_RETURN_IF_ERROR(Number("need", progress.need, 0, kMaxWorld));
  AB_RETURN_IF_ERROR(Names("missing", progress.missing));
  return Text("text", progress.text);
}

absl::Status Validate(const Collect& collect) {
  AB_RETURN_IF_ERROR(Head(collect, 1));
  return Number("communicator_bytes", collect.communicator_bytes, 0, kMaxBytes);
}

absl::Status Validate(const Reduce& reduce) {
  AB_RETURN_IF_ERROR(Head(reduce, 1));
  AB_RETURN_IF_ERROR(Number("attempt", reduce.attempt, 1, kMaxRound));
  AB_RETURN_IF_ERROR(Hexadecimal("unique_id", reduce.unique_id));
  AB_RETURN_IF_ERROR(Number("world", reduce.world, 1, kMaxWorld));
  return Number("rank_base", reduce.rank_base, 0, reduce.world - 1);
}

absl::Status Validate(const Grants& grants) {
  AB_RETURN_IF_ERROR(Head(grants, 1));
  const Place devices("devices");
  AB_RETURN_IF_ERROR(Count(devices, grants.devices.size(), kMaxDevices));
  for (size_t i = 0; i < grants.devices.size(); ++i) {
    const Place place(devices, i);
    AB_RETURN_IF_ERROR(Name({place, "uuid"}, grants.devices[i].uuid));
    AB_RETURN_IF_ERROR(Number({place, "batch"}, grants.devices[i].batch, 0, kMaxMicroBatch));
  }
  return absl::OkStatus();
}

absl::Status Validate(const Prepare& prepare) {
  AB_RETURN_IF_ERROR(HeadAndDigest(prepare));
  if (prepare.record.empty()) return Bad("record", "is empty");
  if (prepare.record.size() > kMaxRecord) {
    return Bad("record",
               absl::StrCat(prepare.record.size(), " bytes; ", kMaxRecord, " are allowed"));
  }
  return absl::OkStatus();
}

absl::Status Validate(const Commit& commit) { return HeadAndDigest(commit); }

absl::Status Validate(const Abort& abort) {
  AB_RETURN_IF_ERROR(Head(abort, 0));
  AB_RETURN_IF_ERROR(Text("reason", abort.reason));
  AB_RETURN_IF_ERROR(Names("missing", abort.missing));
  return Number("exit_code", abort.exit_code, 0, 255);
}

absl::Status Validate(const Refuse& refuse) {
  // Who is refused need not know the run.
  AB_RETURN_IF_ERROR(NameOrEmpty("run_id", refuse.run_id));
  AB_RETURN_IF_ERROR(Number("round", refuse.round, 0, kMaxRound));
  return Text("reason", refuse.reason);
}

absl::Status Validate(const HeartbeatAck& ack) {
  AB_RETURN_IF_ERROR(Head(ack, 0));
  return Number("sequence", ack.sequence, 0, kMaxRound);
}

}  // namespace autobatch
