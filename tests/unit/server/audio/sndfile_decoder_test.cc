#include "server/audio/sndfile_decoder.h"

#include <ogg/ogg.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

using tests::Contains;
using tests::Not;

constexpr std::size_t kHeader = 27;
constexpr std::size_t kCountAt = 26;
constexpr std::size_t kMostSegments = 255;
constexpr char kSegment = static_cast<char>(255);  // bytes of a full segment

std::size_t SizeOfPage(std::string_view page) {
  const auto count = static_cast<std::uint8_t>(page[kCountAt]);
  std::size_t size = kHeader + count;
  for (const char length : page.substr(kHeader, count))
    size += static_cast<std::uint8_t>(length);
  return size;
}

// Returns the Ogg pages of a golden file.
std::vector<std::string> PagesOf(const std::string& name) {
  const std::string file = ClipFile(name);
  std::vector<std::string> pages;
  for (std::size_t at = 0; at < file.size(); at += pages.back().size())
    pages.push_back(file.substr(at, SizeOfPage(file.substr(at))));
  return pages;
}

// Returns a page of the same stream as the page `first`, from the middle of a
// packet.
std::string PageOfLongPacket(const std::string& first, bool begins,
                             std::uint32_t number) {
  std::string page = first.substr(0, kHeader);
  page[5] = begins ? 0 : 1;         // the page continues a packet
  page.replace(6, 8, 8, kSegment);  // no packet ends on the page
  for (int i = 0; i < 4; ++i)
    page[18 + i] = static_cast<char>(number >> (8 * i) & 255);
  page[kCountAt] = kSegment;
  page.append(kMostSegments, kSegment);
  page.append(kMostSegments * kMostSegments, '\0');
  auto* const bytes = reinterpret_cast<unsigned char*>(page.data());
  constexpr std::size_t kBody = kHeader + kMostSegments;
  ogg_page checked = {.header = bytes,
                      .header_len = kBody,
                      .body = bytes + kBody,
                      .body_len = kMostSegments * kMostSegments};
  ogg_page_checksum_set(&checked);
  return page;
}

// Returns a file that has a packet of about `bytes` bytes after its headers.
std::string FileWithPacket(std::size_t bytes) {
  const std::vector<std::string> pages = PagesOf("1_vorbis.ogg");
  std::string file = pages[0] + pages[1];
  std::uint32_t number = 2;
  for (std::size_t size = 0; size < bytes;
       size += kMostSegments * kMostSegments) {
    file += PageOfLongPacket(pages[0], size == 0, number++);
  }
  return file + pages.back();
}

std::string Refusal(const std::string& file) {
  SndfileDecoder decoder;
  const auto clip = decoder.Open(AsBytes(file));
  if (!clip.ok()) return std::string(clip.status().message());
  std::vector<float> out(clip->frames * clip->channels);
  return std::string(decoder.Decode(0, absl::MakeSpan(out)).message());
}

TEST_CASE("The libsndfile decoder bounds packets in Ogg files in length",
          "[audio][sndfile_decoder]") {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  CHECK_THAT(Refusal(FileWithPacket(kMost)),
             Contains("with a packet of more than 16777216 bytes"));
  CHECK_THAT(Refusal(FileWithPacket(kMost / 2)), Not(Contains("packet")));
  // A damaged page of another stream, which libogg skips, precedes the long
  // packet.
  std::string other = PagesOf("1_opus.opus")[0];
  other.back() ^= 1;
  CHECK_THAT(Refusal(other + FileWithPacket(kMost)),
             Contains("with a packet of more than 16777216 bytes"));
}

}  // namespace
}  // namespace forebay::audio
