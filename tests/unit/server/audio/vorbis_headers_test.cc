#include "server/audio/vorbis_headers.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

using tests::HasCode;
using tests::IsOk;

absl::Status Check(std::string_view file) {
  return CheckVorbisHeaders(AsBytes(file));
}

TEST_CASE("Vorbis headers are accepted in whole files",
          "[audio][vorbis_headers]") {
  for (const char* const name :
       {"1_vorbis.ogg", "2_vorbis.ogg", "4_long.ogg"}) {
    CAPTURE(name);
    CHECK_THAT(Check(ClipFile(name)), IsOk());
  }
}

TEST_CASE("The check of Vorbis headers does not look at other streams",
          "[audio][vorbis_headers]") {
  CHECK_THAT(Check(ClipFile("1_opus.opus")), IsOk());
  CHECK_THAT(Check("OggS"), IsOk());
  CHECK_THAT(Check(""), IsOk());
}

TEST_CASE("Vorbis headers are refused if they end too soon",
          "[audio][vorbis_headers]") {
  const std::string file = ClipFile("1_vorbis.ogg");
  for (const std::size_t size : {100, 1000, 2000}) {
    const absl::Status cut = Check(std::string_view(file).substr(0, size));
    UNSCOPED_INFO(size << " " << cut);
    CHECK_THAT(cut, HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("Vorbis headers are found behind what is not a page",
          "[audio][vorbis_headers]") {
  const std::string file = ClipFile("1_vorbis.ogg");
  // The file begins with a page whose checksum is wrong.
  std::string other = ClipFile("1_opus.opus").substr(0, 47);
  other[30] ^= 1;
  CHECK_THAT(Check(other + file), IsOk());
  for (const std::size_t size : {100, 1000, 2000}) {
    const absl::Status cut = Check(other + file.substr(0, size));
    UNSCOPED_INFO(size << " " << cut);
    CHECK_THAT(cut, HasCode(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace forebay::audio
