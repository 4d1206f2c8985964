#ifndef FOREBAY_SERVER_PIPELINE_DECODE_INTEGER_TEXT_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_INTEGER_TEXT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// Returns the number in a file such as "12.cls". Parses the text as Python's
// int() parses bytes. The number is decimal; a sign, white space around it and
// single underscores between digits are allowed. DATA_LOSS: the text is not a
// number, or the number exceeds 64 bits. An error's message gives only the
// reason, without the file's name. Thread-safe; never blocks.
absl::StatusOr<std::int64_t> DecodeInteger(absl::Span<const std::uint8_t> text);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_INTEGER_TEXT_H_
