#ifndef FOREBAY_SERVER_AUDIO_OGG_TAIL_H_
#define FOREBAY_SERVER_AUDIO_OGG_TAIL_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace forebay::audio {

// Returns how much longer the last page of an Ogg file makes it, in the units
// of its codec: Vorbis counts frames, and Opus frames at 48 kHz. Nothing if the
// two last pages are not to be found. Thread-safe; never blocks.
std::optional<std::uint64_t> OggTail(absl::Span<const std::uint8_t> file);

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_OGG_TAIL_H_
