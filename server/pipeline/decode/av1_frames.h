#ifndef FOREBAY_SERVER_PIPELINE_DECODE_AV1_FRAMES_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_AV1_FRAMES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// The most frames that an AV1 decoder keeps at once: 8 references
// (NUM_REF_FRAMES), and the frame that it is decoding.
inline constexpr std::uint64_t kMostAv1Frames = 9;

// Returns the most frames that a decoder of the AV1 stream keeps at once. The
// result is the number of frame headers among the stream's OBUs, including
// hidden frames, but at most kMostAv1Frames. Returns kMostAv1Frames if the
// bytes are not an AV1 stream. Takes any input, and reads each OBU's header
// once. Thread-safe; never blocks.
std::uint64_t CountAv1Frames(absl::Span<const std::uint8_t> stream);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_AV1_FRAMES_H_
