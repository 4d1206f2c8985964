#ifndef FOREBAY_SERVER_PIPELINE_DECODE_FORMAT_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

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

struct FormatGuess {
  Format format = Format::kOther;
  // For people, with its article: "a GIF image", "an empty file". Empty if it
  // is not known.
  std::string_view description;
};

// Guesses from the first bytes of a file what it is. Takes any input.
FormatGuess GuessFormat(absl::Span<const std::uint8_t> file);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_FORMAT_H_
