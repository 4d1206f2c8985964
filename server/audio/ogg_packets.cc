#include "server/audio/ogg_packets.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"

// A page's header has the number of its stream, and ends with the lengths of
// the page's segments. A segment of 255 bytes goes on in the next one, in the
// next page of the stream if it is the last.

namespace forebay::audio {
namespace {

constexpr std::string_view kPage = "OggS";
constexpr std::size_t kStreamAt = 14;
constexpr std::size_t kStreamBytes = 4;
constexpr std::size_t kCountAt = 26;
constexpr std::size_t kHeader = 27;
constexpr std::uint8_t kGoesOn = 255;

}  // namespace

absl::Status CheckOggPackets(absl::Span<const std::uint8_t> file) {
  const std::string_view all(reinterpret_cast<const char*>(file.data()),
                             file.size());
  std::string_view stream;
  std::uint64_t packet = 0;  // bytes so far
  std::size_t at = all.find(kPage);
  while (at != all.npos && all.size() - at >= kHeader) {
    const auto lengths = file.subspan(at + kHeader, file[at + kCountAt]);
    const std::string_view number = all.substr(at + kStreamAt, kStreamBytes);
    if (stream.empty()) stream = number;
    std::size_t body = 0;
    for (const std::uint8_t length : lengths) {
      body += length;
      if (number != stream) continue;
      packet += length;
      if (packet > kMostOggPacket) {
        return absl::DataLossError(
            absl::StrCat("is an Ogg file with a packet of more than ",
                         kMostOggPacket, " bytes"));
      }
      if (length != kGoesOn) packet = 0;
    }
    // Between pages there may be something else.
    at = all.find(kPage, at + kHeader + lengths.size() + body);
  }
  return absl::OkStatus();
}

}  // namespace forebay::audio
