#ifndef FOREBAY_SERVER_AUDIO_VORBIS_HEADERS_H_
#define FOREBAY_SERVER_AUDIO_VORBIS_HEADERS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace forebay::audio {

// Checks the three headers of the Vorbis stream with which an Ogg file begins,
// because libsndfile leaks memory if a header is damaged. A file that begins
// with another stream passes. DATA_LOSS: a header is damaged or missing.
// Thread-safe; never blocks.
absl::Status CheckVorbisHeaders(absl::Span<const std::uint8_t> file);

// Returns whether the Vorbis stream with which an Ogg file begins was cut out
// of a longer stream. In such a stream, the first page of sound has more frames
// than its granule position tells. Returns false if the file is damaged.
// Thread-safe; never blocks.
bool IsCutOut(absl::Span<const std::uint8_t> file);

}  // namespace forebay::audio

#endif  // FOREBAY_SERVER_AUDIO_VORBIS_HEADERS_H_
