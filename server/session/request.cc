#include "server/session/request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/session/message_size.h"

namespace forebay::session {

void SetError(const absl::Status& status, std::size_t longest,
              proto::Error* error) {
  error->set_code(static_cast<std::uint32_t>(status.code()));
  error->set_message(std::string(status.message().substr(0, longest)));
}

Reply Refuse(const absl::Status& status) {
  proto::DaemonMessage answer;
  SetError(status, kMaxError, answer.mutable_error());
  return {.bytes = answer.SerializeAsString(), .fds = {}, .hang_up = true};
}

absl::Status Explain(const absl::Status& status) {
  if (!absl::IsCancelled(status)) return status;
  return absl::CancelledError(
      absl::StrCat(status.message(), ": the daemon is shutting down"));
}

absl::Status ClientHungUp() {
  return absl::CancelledError("the client has hung up");
}

// The size of the parsed message is checked first: a datagram of 64 KiB could
// otherwise take many times as much memory.
absl::StatusOr<Request> Request::Parse(Datagram& datagram) {
  Request request;
  if (!ParsedSize(datagram.bytes, proto::ClientMessage::descriptor()).ok() ||
      !request.message.ParseFromString(datagram.bytes) ||
      request.message.request_id() == 0 ||
      request.message.kind_case() == proto::ClientMessage::KIND_NOT_SET) {
    return absl::InvalidArgumentError(
        "a message that is none of this protocol");
  }
  request.fds = std::move(datagram.fds);
  return request;
}

}  // namespace forebay::session
