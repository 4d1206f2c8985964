#include "server/audio/audio_format.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

using std::string_literals::operator""s;

AudioFormat Of(const std::string& start) { return FormatOf(AsBytes(start)); }

TEST_CASE("The audio format of a file is known by its first bytes",
          "[audio][audio_format]") {
  CHECK(Of(ClipFile("1_s16.wav")) == AudioFormat::kWav);
  CHECK(Of(ClipFile("1_rf64.wav")) == AudioFormat::kWav);
  CHECK(Of(ClipFile("1_s16.flac")) == AudioFormat::kFlac);
  CHECK(Of(ClipFile("1_vorbis.ogg")) == AudioFormat::kOgg);
  CHECK(Of(ClipFile("1_opus.opus")) == AudioFormat::kOgg);
  for (const char* const name :
       {"1_cbr.mp3", "1_bare.mp3", "1_low.mp3", "1_tag.mp3"}) {
    CAPTURE(name);
    CHECK(Of(ClipFile(name)) == AudioFormat::kMp3);
  }
}

TEST_CASE("A tag may stand before an audio file of the FLAC format",
          "[audio][audio_format]") {
  CHECK(Of("ID3\x04\0\0\0\0\0\x02"s + "..fLaC") == AudioFormat::kFlac);
  CHECK(Of("ID3\x04\0\0\0\0\0\x02"s + "..fLa") == AudioFormat::kMp3);
  CHECK(Of("ID3\x04\0\0\0\0\0\x02"s + "..ID3\x04\0\0\0\0\0\0"s + "fLaC") ==
        AudioFormat::kFlac);
}

TEST_CASE("A tag may be longer than the audio file that has it",
          "[audio][audio_format]") {
  const std::string tag = "ID3\x04\0\0\x7f\x7f\x7f\x7f.."s;
  CHECK(Of(tag) == AudioFormat::kMp3);
  CHECK(BehindTags(AsBytes(tag)).empty());
}

TEST_CASE("Other bytes than audio are not of any known audio format",
          "[audio][audio_format]") {
  for (const std::string& start :
       {""s, "R"s, "RIFF"s, "RIFF....WEBP"s, "OGGS"s, "\xff\xd8\xff\xe0"s,
        "\xff\xfe"
        "a\0"s,
        "\xff\xfb\xf0\0"s, "\xff\xfb\x9c\0"s, "\xff\xe9\x90\0"s, "\x93NUMPY"s,
        "text"s}) {
    CAPTURE(start);
    CHECK(Of(start) == AudioFormat::kOther);
  }
}

TEST_CASE("An audio format has a name and a usual number of frames per byte",
          "[audio][audio_format]") {
  CHECK(NameOf(AudioFormat::kFlac) == "FLAC");
  CHECK(UsualFramesPerByte(AudioFormat::kWav) >= 2u);
}

}  // namespace
}  // namespace forebay::audio
