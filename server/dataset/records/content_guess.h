#ifndef FOREBAY_SERVER_DATASET_RECORDS_CONTENT_GUESS_H_
#define FOREBAY_SERVER_DATASET_RECORDS_CONTENT_GUESS_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

// Guesses the kind of a file by its first bytes. The functions are thread-safe,
// never block and have no errors.

namespace forebay::dataset::records {

// Whether `bytes` begin like a JPEG, PNG, WebP, AVIF, GIF or TIFF file.
bool IsImage(absl::Span<const std::uint8_t> bytes);

// Whether `bytes` begin like a WAV, FLAC, Ogg or MP3 file.
bool IsAudio(absl::Span<const std::uint8_t> bytes);

// Whether `bytes` begin like a .npy file.
bool IsNpyFile(absl::Span<const std::uint8_t> bytes);

// Whether `bytes` are UTF-8 text, not empty, and without control characters
// other than tabs and ends of lines.
bool IsPrintable(absl::Span<const std::uint8_t> bytes);

// Returns the type that all payloads seem to have (value_type.h): "image",
// "npy", "audio", "text", or otherwise "bytes". Empty payloads are ignored.
std::string_view GuessType(
    absl::Span<const absl::Span<const std::uint8_t>> payloads);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_CONTENT_GUESS_H_
