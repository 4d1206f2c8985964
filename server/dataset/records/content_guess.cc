#include "server/dataset/records/content_guess.h"

#include <algorithm>
#include <cstddef>

#include "server/audio/audio_format.h"
#include "server/base/utf8.h"

namespace forebay::dataset::records {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

bool StartsWith(Bytes bytes, std::string_view start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin(),
                    [](char a, std::uint8_t b) {
                      return static_cast<std::uint8_t>(a) == b;
                    });
}

}  // namespace

bool IsImage(Bytes bytes) {
  using std::string_view_literals::operator""sv;
  constexpr std::size_t kRiffHeader = 8;  // bytes before the kind of RIFF file
  constexpr std::size_t kBoxSize = 4;  // bytes of a box's size, before its type
  // The formats are, in this order: JPEG (SOI and the next marker), PNG, GIF,
  // TIFF of both byte orders (TIFF 6.0, section 2), AVIF and WebP.
  return StartsWith(bytes, "\xff\xd8\xff") ||
         StartsWith(bytes, "\x89PNG\r\n") || StartsWith(bytes, "GIF87a") ||
         StartsWith(bytes, "GIF89a") || StartsWith(bytes, "II*\0"sv) ||
         StartsWith(bytes, "MM\0*"sv) ||
         (bytes.size() > kBoxSize &&
          (StartsWith(bytes.subspan(kBoxSize), "ftypavif") ||
           StartsWith(bytes.subspan(kBoxSize), "ftypavis"))) ||
         (StartsWith(bytes, "RIFF") && bytes.size() > kRiffHeader &&
          StartsWith(bytes.subspan(kRiffHeader), "WEBP"));
}

bool IsAudio(Bytes bytes) {
  return audio::FormatOf(bytes) != audio::AudioFormat::kOther;
}

bool IsNpyFile(Bytes bytes) { return StartsWith(bytes, "\x93NUMPY"); }

bool IsPrintable(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = bytes[at];
    const std::size_t length = base::Utf8Length(text.substr(at));
    const bool is_control =
        byte < ' ' && byte != '\n' && byte != '\r' && byte != '\t';
    if (length == 0 || is_control) return false;
    at += length;
  }
  return !text.empty();
}

// Types with magic numbers are tried first. Text has no magic number, so it is
// tried last.
std::string_view GuessType(absl::Span<const Bytes> payloads) {
  // Whether `is_such` is true for all payloads that are not empty, and there is
  // at least one of these.
  const auto all_are = [&](bool (*is_such)(Bytes)) {
    bool any = false;
    for (const Bytes payload : payloads) {
      if (payload.empty()) continue;
      if (!is_such(payload)) return false;
      any = true;
    }
    return any;
  };
  if (all_are(IsImage)) return "image";
  if (all_are(IsNpyFile)) return "npy";
  if (all_are(IsAudio)) return "audio";
  if (all_are(IsPrintable)) return "text";
  return "bytes";
}

}  // namespace forebay::dataset::records
