#ifndef FOREBAY_SERVER_AUDIO_VORBIS_HEADERS_H_
#define FOREBAY_SERVER_AUDIO_VORBIS_HEADERS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::audio {

// Checks the three headers of a Vorbis stream that an Ogg file begins with:
// libsndfile loses some memory whenever these are damaged. Other streams are
// not looked at. DATA_LOSS: one is damaged or missing. Thread-safe; never
// blocks.
absl::Status CheckVorbisHeaders(absl::Span<const std::uint8_t> file);

// Whether the first page of sound of a Vorbis stream that an Ogg file begins
// with has more frames than it says: the stream was cut out of a longer one,
// and some come before its start. False, too, of what is damaged. Thread-safe;
// never blocks.
bool IsCutOut(absl::Span<const std::uint8_t> file);

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_VORBIS_HEADERS_H_
