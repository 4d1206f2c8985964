#include "server/audio/ogg_tail.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

// Returns an Ogg page's header (RFC 3533, section 6), followed by some bytes.
std::string Page(std::uint64_t place) {
  std::string page = "OggS" + std::string(2, '\0');
  for (int i = 0; i < 8; ++i)
    page += static_cast<char>(place >> (8 * i) & 0xFF);
  return page + std::string(60, 'x');
}

std::optional<std::uint64_t> TailOf(const std::string& file) {
  return OggTail(AsBytes(file));
}

TEST_CASE("An Ogg file's tail is the difference of the last two places",
          "[audio][ogg_tail]") {
  CHECK(TailOf(Page(0) + Page(300) + Page(1000)) == 700u);
  CHECK(TailOf(Page(0) + Page(1000)) == 1000u);
  CHECK(TailOf(Page(5) + Page(5)) == 0u);
}

TEST_CASE("Pages without a place do not count for an Ogg file's tail",
          "[audio][ogg_tail]") {
  const std::string none = Page(~std::uint64_t{0});
  CHECK(TailOf(Page(300) + none + Page(1000) + none) == 700u);
}

TEST_CASE("An Ogg file's tail is unknown without two pages",
          "[audio][ogg_tail]") {
  CHECK(TailOf("") == std::nullopt);
  CHECK(TailOf("OggS") == std::nullopt);
  CHECK(TailOf(Page(300)) == std::nullopt);
  CHECK(TailOf(Page(300) + std::string(1 << 20, 'x') + Page(400)) ==
        std::nullopt);
}

TEST_CASE("An Ogg file's tail is known though the pages' places fall",
          "[audio][ogg_tail]") {
  CHECK(TailOf(Page(100) + Page(500) + Page(200)) == 400u);
}

}  // namespace
}  // namespace forebay::audio
