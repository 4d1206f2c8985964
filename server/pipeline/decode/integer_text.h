#ifndef FOREBAY_SERVER_PIPELINE_DECODE_INTEGER_TEXT_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_INTEGER_TEXT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// Returns the number in a file such as "12.cls", read as Python's int() reads
// bytes: in decimal, perhaps with a sign, white space around it and single
// underscores between digits. DATA_LOSS: it is no number, or does not fit.
// Errors give the reason alone. Thread-safe; never blocks.
absl::StatusOr<std::int64_t> DecodeInteger(absl::Span<const std::uint8_t> text);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_INTEGER_TEXT_H_
