#ifndef FOREBAY_SERVER_PIPELINE_DECODE_UTF8_TEXT_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_UTF8_TEXT_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// Returns the text of a file such as "12.txt"; the result points into `bytes`.
// DATA_LOSS: Python's strict UTF-8 decoder would refuse the bytes; the error
// says where the fault is. Thread-safe; never blocks.
absl::StatusOr<std::string_view> DecodeText(
    absl::Span<const std::uint8_t> bytes);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_UTF8_TEXT_H_
