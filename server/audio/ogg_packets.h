#ifndef FOREBAY_SERVER_AUDIO_OGG_PACKETS_H_
#define FOREBAY_SERVER_AUDIO_OGG_PACKETS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::audio {

// libogg copies a packet together, in memory that nobody has counted. No packet
// may be longer; a comment with a picture is what comes nearest.
inline constexpr std::uint64_t kMostOggPacket = std::uint64_t{16} << 20;

// Checks the lengths of the packets of the stream that an Ogg file begins with.
// Looks at the pages' headers alone. DATA_LOSS: one is longer than that.
// Thread-safe; never blocks.
absl::Status CheckOggPackets(absl::Span<const std::uint8_t> file);

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_OGG_PACKETS_H_
