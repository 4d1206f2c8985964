#ifndef FOREBAY_SERVER_AUDIO_OGG_TAIL_H_
#define FOREBAY_SERVER_AUDIO_OGG_TAIL_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace forebay::audio {

// Returns how many frames an Ogg file's last page has: the page's granule
// position minus the granule position of the page before. Granule positions of
// Vorbis count frames; those of Opus count frames at 48 kHz. Returns nullopt if
// the last two pages are not found. Thread-safe; never blocks.
std::optional<std::uint64_t> OggTail(absl::Span<const std::uint8_t> file);

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_OGG_TAIL_H_
