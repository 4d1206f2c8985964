#include "server/audio/audio_format.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

using std::string_literals::operator""s;

AudioFormat Of(const std::string& start) { return FormatOf(AsBytes(start)); }

TEST(AudioFormatTest, KnowsEachFormatByItsFirstBytes) {
  EXPECT_EQ(Of(ClipFile("1_s16.wav")), AudioFormat::kWav);
  EXPECT_EQ(Of(ClipFile("1_rf64.wav")), AudioFormat::kWav);
  EXPECT_EQ(Of(ClipFile("1_s16.flac")), AudioFormat::kFlac);
  EXPECT_EQ(Of(ClipFile("1_vorbis.ogg")), AudioFormat::kOgg);
  EXPECT_EQ(Of(ClipFile("1_opus.opus")), AudioFormat::kOgg);
  for (const char* const name :
       {"1_cbr.mp3", "1_bare.mp3", "1_low.mp3", "1_tag.mp3"})
    EXPECT_EQ(Of(ClipFile(name)), AudioFormat::kMp3) << name;
}

TEST(AudioFormatTest, ATagMayStandBeforeFlac) {
  EXPECT_EQ(Of("ID3\x04\0\0\0\0\0\x02"s + "..fLaC"), AudioFormat::kFlac);
  EXPECT_EQ(Of("ID3\x04\0\0\0\0\0\x02"s + "..fLa"), AudioFormat::kMp3);
  EXPECT_EQ(Of("ID3\x04\0\0\0\0\0\x02"s + "..ID3\x04\0\0\0\0\0\0"s + "fLaC"),
            AudioFormat::kFlac);
}

TEST(AudioFormatTest, ATagMayBeLongerThanTheFile) {
  const std::string tag = "ID3\x04\0\0\x7f\x7f\x7f\x7f.."s;
  EXPECT_EQ(Of(tag), AudioFormat::kMp3);
  EXPECT_TRUE(BehindTags(AsBytes(tag)).empty());
}

TEST(AudioFormatTest, OtherBytesAreNone) {
  for (const std::string& start :
       {""s, "R"s, "RIFF"s, "RIFF....WEBP"s, "OGGS"s, "\xff\xd8\xff\xe0"s,
        "\xff\xfe"
        "a\0"s,
        "\xff\xfb\xf0\0"s, "\xff\xfb\x9c\0"s, "\xff\xe9\x90\0"s, "\x93NUMPY"s,
        "text"s})
    EXPECT_EQ(Of(start), AudioFormat::kOther) << start;
}

TEST(AudioFormatTest, NamesThem) {
  EXPECT_EQ(NameOf(AudioFormat::kFlac), "FLAC");
  EXPECT_GE(UsualFramesPerByte(AudioFormat::kWav), 2u);
}

}  // namespace
}  // namespace forebay::audio
