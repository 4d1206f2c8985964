#ifndef FOREBAY_SERVER_PIPELINE_DECODE_FORMAT_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// A format of image files. kOther means all formats that are not decoded.
enum class Format {
  kJpeg,
  kPng,
  kWebp,
  kGif,
  kTiff,
  kBmp,
  kNetpbm,
  kAvif,
  kRaw,
  kOther
};

// A file's format, guessed from its first bytes.
struct FormatGuess {
  Format format = Format::kOther;
  // The format's name for people, with an article: "a GIF image", "an empty
  // file". Empty if the format is unknown.
  std::string_view description;
};

// Guesses a file's format from its first bytes. Takes any input. Thread-safe;
// never blocks; no errors.
FormatGuess GuessFormat(absl::Span<const std::uint8_t> file);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_FORMAT_H_
