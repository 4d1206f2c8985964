#ifndef FOREBAY_SERVER_SESSION_MESSAGE_SIZE_H_
#define FOREBAY_SERVER_SESSION_MESSAGE_SIZE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"

namespace forebay::session {

// Returns the most bytes of memory that a message of `type` takes once it is
// parsed from `wire`. Two bytes of the wire format can become a message of some
// hundred bytes, so the length of `wire` does not bound that memory. The
// function walks through the wire format and allocates nothing. Thread-safe;
// never blocks.
//
// INVALID_ARGUMENT: the message is malformed, nested too deep, or contains too
// many messages.
absl::StatusOr<std::uint64_t> ParsedSize(
    std::string_view wire, const google::protobuf::Descriptor* type);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_MESSAGE_SIZE_H_
