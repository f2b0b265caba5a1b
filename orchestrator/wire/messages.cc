#include "orchestrator/wire/messages.h"

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {
namespace {

// The numbers of types on the wire, in the order of the variant. They never change their meaning.
struct TypeInfo {
  uint16_t number;
  absl::string_view name;
};
constexpr std::array<TypeInfo, std::variant_size_v<Message>> kTypes = {{
    {1, "hello"},
    {2, "report"},
    {3, "heartbeat"},
    {4, "reduce_id"},
    {5, "reduce_result"},
    {6, "prepared"},
    {7, "committed"},
    {8, "leave"},
    {101, "welcome"},
    {102, "progress"},
    {103, "collect"},
    {104, "reduce"},
    {105, "grants"},
    {106, "prepare"},
    {107, "commit"},
    {108, "abort"},
    {109, "refuse"},
    {110, "heartbeat_ack"},
}};
constexpr uint16_t kFirstOfCoordinator = 101;

const TypeInfo& TypeOf(const Message& message) { return kTypes[message.index()]; }

template <typename T>
absl::StatusOr<Message> Read(const std::string& payload) {
  AB_ASSIGN_OR_RETURN(T message, FromJson<T>(payload));
  AB_RETURN_IF_ERROR(Validate(message));
  return Message(std::move(message));
}

// The reader of the I-th alternative.
template <size_t... I>
absl::StatusOr<Message> ReadAlternative(size_t index, const std::string& payload,
                                        std::index_sequence<I...>) {
  using Reader = absl::StatusOr<Message> (*)(const std::string&);
  static constexpr Reader kReaders[] = {&Read<std::variant_alternative_t<I, Message>>...};
  return kReaders[index](payload);
}

absl::Status InMessage(absl::string_view name, const absl::Status& status) {
  return {status.code(), absl::StrCat(name, ": ", status.message())};
}

}  // namespace

absl::string_view MessageName(const Message& message) { return TypeOf(message).name; }

const std::string& RunIdOf(const Message& message) {
  return std::visit([](const auto& m) -> const std::string& { return m.run_id; }, message);
}

int64_t RoundOf(const Message& message) {
  return std::visit([](const auto& m) { return m.round; }, message);
}

bool IsFromAgent(const Message& message) { return TypeOf(message).number < kFirstOfCoordinator; }

absl::StatusOr<Frame> EncodeMessage(Message message) {
  std::visit([](auto& m) { MakePlain(m); }, message);
  const absl::Status valid = std::visit([](const auto& m) { return Validate(m); }, message);
  if (!valid.ok()) return InMessage(MessageName(message), valid);
  return Frame{.type = TypeOf(message).number,
               .payload = std::visit([](const auto& m) { return ToJson(m); }, message)};
}

absl::StatusOr<Message> DecodeMessage(const Frame& frame) {
  if (frame.version != kWireVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the peer speaks protocol version ", frame.version, ", this side version ", kWireVersion));
  }
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].number != frame.type) continue;
    absl::StatusOr<Message> message =
        ReadAlternative(i, frame.payload, std::make_index_sequence<std::variant_size_v<Message>>());
    if (!message.ok()) return InMessage(kTypes[i].name, message.status());
    return message;
  }
  return absl::UnimplementedError(absl::StrCat("a message of type ", frame.type,
                                               ", which protocol version ", kWireVersion,
                                               " does not have"));
}

Refuse RefusalOf(const absl::Status& error) {
  Refuse refuse;
  refuse.reason = std::string(error.message());
  switch (error.code()) {
    case absl::StatusCode::kFailedPrecondition:
      refuse.code = RefuseCode::kVersion;
      refuse.closing = true;
      break;
    case absl::StatusCode::kUnimplemented:
      // A newer minor version may say more than this one knows; the connection goes on.
      refuse.code = RefuseCode::kUnexpected;
      break;
    default:
      refuse.code = RefuseCode::kInvalid;
      refuse.closing = true;
  }
  return refuse;
}

}  // namespace autobatch
