#include "server/storage/s3/xml.h"

#include <algorithm>

namespace forebay::storage::s3 {
namespace {

// The most tags and attributes: about 10 elements for each of 1,000 objects,
// with two tags each, and some room to spare. The bound limits memory, since an
// element takes 64 bytes besides its text.
constexpr std::ptrdiff_t kMaxTags = 50'000;

}  // namespace

bool ParseXml(std::string_view text, pugi::xml_document* document) {
  // An attribute, which has "=", takes as much memory as an element.
  const auto counts = [](char c) { return c == '<' || c == '='; };
  if (std::count_if(text.begin(), text.end(), counts) > kMaxTags) return false;
  return static_cast<bool>(document->load_buffer(
      text.data(), text.size(), pugi::parse_escapes, pugi::encoding_utf8));
}

}  // namespace forebay::storage::s3
