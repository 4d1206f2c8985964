#ifndef FOREBAY_SERVER_DATASET_RECORDS_CONTENT_GUESS_H_
#define FOREBAY_SERVER_DATASET_RECORDS_CONTENT_GUESS_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

// Guesses what bytes are. Thread-safe; never blocks; has no errors.

namespace forebay::dataset::records {

// Whether they begin as a JPEG, PNG, WebP, AVIF, GIF or TIFF file does.
bool IsImage(absl::Span<const std::uint8_t> bytes);

// Whether they begin as a WAV, FLAC, Ogg or MP3 file does.
bool IsAudio(absl::Span<const std::uint8_t> bytes);

// Whether they begin as a .npy file does.
bool IsNpyFile(absl::Span<const std::uint8_t> bytes);

// Whether they are UTF-8 without control characters, but for ends of lines and
// tabs, and not empty.
bool IsPrintable(absl::Span<const std::uint8_t> bytes);

// Returns the type that all of the payloads seem to have (value_type.h):
// "image", "npy", "audio", "text", else "bytes". Empty ones tell nothing.
std::string_view GuessType(
    absl::Span<const absl::Span<const std::uint8_t>> payloads);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_CONTENT_GUESS_H_
