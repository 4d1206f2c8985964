#include "server/pipeline/decode/format.h"

#include <algorithm>
#include <cstddef>

namespace forebay::pipeline::decode {
namespace {

using std::string_view_literals::operator""sv;

// Bytes that identify a format, and their offset in the file.
struct Magic {
  std::size_t offset;
  std::string_view bytes;
  FormatGuess guess;
};

constexpr Magic kMagics[] = {
    {0, "\xff\xd8\xff"sv, {Format::kJpeg, "a JPEG image"}},
    {0, "\x89PNG\r\n\x1a\n"sv, {Format::kPng, "a PNG image"}},
    {0, "\x8fRAW"sv, {Format::kRaw, "a raw image"}},
    {0, "GIF8"sv, {Format::kGif, "a GIF image"}},
    {8, "WEBP"sv, {Format::kWebp, "a WebP image"}},
    {0, "II*\0"sv, {Format::kTiff, "a TIFF image"}},
    {0, "MM\0*"sv, {Format::kTiff, "a TIFF image"}},
    {0, "II+\0"sv, {Format::kTiff, "a TIFF image"}},
    {0, "MM\0+"sv, {Format::kTiff, "a TIFF image"}},
    {0, "BM"sv, {Format::kBmp, "a BMP image"}},
    {4, "ftyphei"sv, {Format::kOther, "a HEIF image"}},
    {4, "ftypmif1"sv, {Format::kOther, "a HEIF image"}},
    {4, "ftypmsf1"sv, {Format::kOther, "a HEIF image"}},
    {0, "\0\0\0\x0cJXL "sv, {Format::kOther, "a JPEG XL image"}},
    {0, "\0\0\0\x0cjP  "sv, {Format::kOther, "a JPEG 2000 image"}},
    {0, "\xff\x4f\xff\x51"sv, {Format::kOther, "a JPEG 2000 image"}},
    {0, "%PDF-"sv, {Format::kOther, "a PDF document"}},
    {0, "\x1f\x8b"sv, {Format::kOther, "gzip data"}},
    {0, "PK\x03\x04"sv, {Format::kOther, "a zip archive"}},
};

bool StartsWithAt(std::string_view text, std::size_t offset,
                  std::string_view prefix) {
  return text.size() >= offset + prefix.size() &&
         text.compare(offset, prefix.size(), prefix) == 0;
}

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

// Whether one of the brands in the file type box ("ftyp") is AVIF's: ISO/IEC
// 14496-12, 4.3. The box has its size, its type, the major brand, the minor
// version and compatible brands, of 4 bytes each.
bool LooksLikeAvif(std::string_view text) {
  constexpr std::size_t kFirstBrand = 8;
  constexpr std::size_t kMinorVersion = 12;
  constexpr std::size_t kBrand = 4;
  if (!StartsWithAt(text, 4, "ftyp"sv)) return false;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i)
    size = size << 8 | static_cast<std::uint8_t>(text[i]);
  for (std::size_t at = kFirstBrand; at + kBrand <= std::min(size, text.size());
       at += kBrand) {
    if (at == kMinorVersion) continue;
    if (StartsWithAt(text, at, "avif"sv) || StartsWithAt(text, at, "avis"sv))
      return true;
  }
  return false;
}

// Whether the file begins with the magic number of a PBM, PGM or PPM image, and
// white space behind it.
bool LooksLikeNetpbm(std::string_view text) {
  return text.size() >= 3 && text[0] == 'P' && text[1] >= '1' &&
         text[1] <= '6' &&
         (text[2] == ' ' || (text[2] >= '\t' && text[2] <= '\r'));
}

bool LooksLikeHtml(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  text.remove_prefix(start);
  for (std::string_view tag : {"<!doctype html"sv, "<html"sv}) {
    if (text.size() >= tag.size() &&
        std::equal(tag.begin(), tag.end(), text.begin(),
                   [](char a, char b) { return a == ToLower(b); })) {
      return true;
    }
  }
  return false;
}

bool LooksLikeText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\r' || c == '\n';
  });
}

}  // namespace

FormatGuess GuessFormat(absl::Span<const std::uint8_t> file) {
  // The most bytes that are looked at. All magic numbers lie in the first 12
  // bytes.
  constexpr std::size_t kLooked = 256;
  const std::string_view head(reinterpret_cast<const char*>(file.data()),
                              std::min(file.size(), kLooked));
  if (head.empty()) return {Format::kOther, "an empty file"};
  if (LooksLikeAvif(head)) return {Format::kAvif, "an AVIF image"};
  if (LooksLikeNetpbm(head)) return {Format::kNetpbm, "a PPM image"};
  for (const Magic& magic : kMagics) {
    if (StartsWithAt(head, magic.offset, magic.bytes)) return magic.guess;
  }
  if (LooksLikeHtml(head)) return {Format::kOther, "an HTML page"};
  if (LooksLikeText(head)) return {Format::kOther, "text"};
  if (head.find_first_not_of('\0') == std::string_view::npos) {
    return {Format::kOther, "zero bytes"};
  }
  return {};
}

}  // namespace forebay::pipeline::decode
