#include "server/audio/vorbis_headers.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

absl::Status Check(std::string_view file) {
  return CheckVorbisHeaders(AsBytes(file));
}

TEST(VorbisHeadersTest, AreAcceptedInWholeFiles) {
  for (const char* const name : {"1_vorbis.ogg", "2_vorbis.ogg", "4_long.ogg"})
    EXPECT_TRUE(Check(ClipFile(name)).ok()) << name;
}

TEST(VorbisHeadersTest, OtherStreamsAreNotLookedAt) {
  EXPECT_TRUE(Check(ClipFile("1_opus.opus")).ok());
  EXPECT_TRUE(Check("OggS").ok());
  EXPECT_TRUE(Check("").ok());
}

TEST(VorbisHeadersTest, AreRefusedIfTheyEndTooSoon) {
  const std::string file = ClipFile("1_vorbis.ogg");
  for (const std::size_t size : {100, 1000, 2000}) {
    const absl::Status cut = Check(std::string_view(file).substr(0, size));
    EXPECT_TRUE(absl::IsDataLoss(cut)) << size << " " << cut;
  }
}

TEST(VorbisHeadersTest, AreFoundBehindWhatIsNoPage) {
  const std::string file = ClipFile("1_vorbis.ogg");
  // A page with a wrong checksum.
  std::string other = ClipFile("1_opus.opus").substr(0, 47);
  other[30] ^= 1;
  EXPECT_TRUE(Check(other + file).ok());
  for (const std::size_t size : {100, 1000, 2000}) {
    const absl::Status cut = Check(other + file.substr(0, size));
    EXPECT_TRUE(absl::IsDataLoss(cut)) << size << " " << cut;
  }
}

}  // namespace
}  // namespace forebay::audio
