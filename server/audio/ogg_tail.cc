#include "server/audio/ogg_tail.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

// A page (RFC 3533, section 6) begins with "OggS", a version and flags. The
// granule position follows, in eight little-endian bytes. The position tells
// where the page's last complete packet ends. The value -1 says that no packet
// ends on the page.

namespace forebay::audio {
namespace {

constexpr std::string_view kPage = "OggS";
// Offset of the granule position in a page.
constexpr std::size_t kPlaceAt = 6;
// Bytes of a page's header before its segment table.
constexpr std::size_t kHeader = 27;
// Number of bytes searched at the file's end: three pages of the largest size.
// One of these pages may be a page on which no packet ends.
constexpr std::size_t kSearched = 3 * 65307;

// Returns a page's granule position.
std::uint64_t PlaceOf(std::string_view page) {
  std::uint64_t place = 0;
  for (std::size_t i = 8; i-- > 0;)
    place = place << 8 | static_cast<std::uint8_t>(page[kPlaceAt + i]);
  return place;
}

}  // namespace

std::optional<std::uint64_t> OggTail(absl::Span<const std::uint8_t> file) {
  const std::size_t searched = std::min(file.size(), kSearched);
  const std::string_view end(
      reinterpret_cast<const char*>(file.data() + (file.size() - searched)),
      searched);
  std::optional<std::uint64_t> last;
  std::size_t at = end.rfind(kPage);
  while (at != end.npos) {
    if (end.size() - at >= kHeader) {
      const std::uint64_t place = PlaceOf(end.substr(at));
      const bool is_known = place != ~std::uint64_t{0};
      if (is_known && last.has_value() && place <= *last) return *last - place;
      if (is_known) last = place;
    }
    if (at == 0) break;
    at = end.rfind(kPage, at - 1);
  }
  return std::nullopt;
}

}  // namespace forebay::audio
