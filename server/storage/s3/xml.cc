#include "server/storage/s3/xml.h"

#include <algorithm>

namespace forebay::storage::s3 {
namespace {

// Some 10 elements an object. What they take in memory is bounded so: 64 bytes
// each, besides the text.
constexpr std::ptrdiff_t kMaxTags = 50'000;

}  // namespace

bool ParseXml(std::string_view text, pugi::xml_document* document) {
  // An attribute takes as much as an element.
  const auto counts = [](char c) { return c == '<' || c == '='; };
  if (std::count_if(text.begin(), text.end(), counts) > kMaxTags) return false;
  return static_cast<bool>(document->load_buffer(
      text.data(), text.size(), pugi::parse_escapes, pugi::encoding_utf8));
}

}  // namespace forebay::storage::s3
