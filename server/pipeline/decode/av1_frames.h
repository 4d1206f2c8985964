#ifndef FOREBAY_SERVER_PIPELINE_DECODE_AV1_FRAMES_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_AV1_FRAMES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// The most frames that an AV1 decoder keeps at once: references, and the one
// that it makes.
inline constexpr std::uint64_t kMostAv1Frames = 9;

// Returns how many frames a decoder of an AV1 stream keeps at most; shown or
// not, as the stream's units say. Returns kMostAv1Frames for what is no such
// stream. Takes any input, and reads each unit once. Thread-safe; never blocks.
std::uint64_t CountAv1Frames(absl::Span<const std::uint8_t> stream);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_AV1_FRAMES_H_
