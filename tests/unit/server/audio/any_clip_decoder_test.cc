#include "server/audio/any_clip_decoder.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr float kLossy = 1e-5F;
constexpr unsigned kSeed = 3;

// Returns all sample values of a file, or the error.
absl::StatusOr<std::vector<float>> Decoded(std::string_view file) {
  AnyClipDecoder decoder;
  const auto clip = decoder.Open(AsBytes(file));
  if (!clip.ok()) return clip.status();
  // No file of these tests is longer.
  if (clip->frames > 100'000) return absl::OutOfRangeError("is too long");
  std::vector<float> numbers(clip->frames * clip->channels);
  const absl::Status status = decoder.Decode(0, absl::MakeSpan(numbers));
  if (!status.ok()) return status;
  return numbers;
}

std::vector<float> Window(std::string_view file, std::uint64_t begin,
                          std::uint64_t frames) {
  AnyClipDecoder decoder;
  const auto clip = decoder.Open(AsBytes(file));
  CHECK_THAT(clip, IsOk());
  std::vector<float> numbers(frames * clip->channels);
  const absl::Status status = decoder.Decode(begin, absl::MakeSpan(numbers));
  CHECK_THAT(status, IsOk());
  return numbers;
}

float Difference(absl::Span<const float> a, absl::Span<const float> b) {
  float worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST_CASE("The clip decoder gives what soundfile gives",
          "[audio][any_clip_decoder]") {
  for (const GoldenClip& golden : GoldenClips()) {
    INFO(golden.name);
    const std::string file = ClipFile(golden.name);
    AnyClipDecoder decoder;
    const auto clip = decoder.Open(AsBytes(file));
    REQUIRE_THAT(clip, IsOk());
    CHECK(clip->frames == golden.frames);
    CHECK(clip->channels == golden.channels);
    CHECK(clip->sample_rate == golden.sample_rate);
    const auto numbers = Decoded(file);
    REQUIRE_THAT(numbers, IsOk());
    if (golden.crc.has_value()) {
      const uLong crc =
          crc32(0, reinterpret_cast<const Bytef*>(numbers->data()),
                static_cast<uInt>(numbers->size() * sizeof(float)));
      CHECK(crc == *golden.crc);
    } else {
      std::vector<float> some;
      for (std::size_t i = 0; i < numbers->size(); i += kGoldenStep)
        some.push_back((*numbers)[i]);
      REQUIRE(some.size() == golden.values.size());
      CHECK(Difference(some, golden.values) < kLossy);
    }
  }
}

TEST_CASE("A window that the clip decoder gives is a part of the whole clip",
          "[audio][any_clip_decoder]") {
  std::mt19937 draws(kSeed);
  for (const GoldenClip& golden : GoldenClips()) {
    INFO(golden.name);
    if (golden.frames < 600) continue;
    const std::string file = ClipFile(golden.name);
    const auto whole = Decoded(file);
    REQUIRE_THAT(whole, IsOk());
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t begin = draws() % golden.frames;
      const std::uint64_t most = golden.frames - begin;
      const std::uint64_t frames = i == 0 ? most : draws() % most + 1;
      const auto part =
          absl::MakeConstSpan(*whole).subspan(begin * golden.channels);
      UNSCOPED_INFO(begin << " " << frames);
      CHECK(Difference(Window(file, begin, frames), part) < kLossy);
    }
  }
}

// soundfile reads the sound that follows the tags.
TEST_CASE("The clip decoder skips tags before the sound",
          "[audio][any_clip_decoder]") {
  const std::string tag =
      std::string("ID3\x04\0\0\0\0\0\x09", 10) + std::string(9, '.');
  for (const char* const name :
       {"1_s16.wav", "2_s24.wav", "1_s16.flac", "2_cbr.mp3"}) {
    CAPTURE(name);
    const std::string file = ClipFile(name);
    const auto whole = Decoded(file);
    REQUIRE_THAT(whole, IsOk());
    for (const std::string& tags : {tag, tag + tag}) {
      const auto tagged = Decoded(tags + file);
      REQUIRE_THAT(tagged, IsOk());
      CHECK(*tagged == *whole);
    }
  }
}

TEST_CASE("The clip decoder lets NaN and infinity pass",
          "[audio][any_clip_decoder]") {
  const auto odd = Decoded(ClipFile("1_odd.wav"));
  REQUIRE_THAT(odd, IsOk());
  REQUIRE(odd->size() == 5u);
  CHECK(std::isnan((*odd)[0]));
  CHECK(std::isinf((*odd)[1]));
  CHECK((*odd)[3] == 2.5F);
}

// A file that is cut off at any byte is decoded as far as it goes, or refused.
TEST_CASE("The clip decoder decodes or refuses files that end anywhere",
          "[audio][any_clip_decoder]") {
  for (const char* const name :
       {"2_s16.wav", "1_ima.wav", "1_s16.flac", "1_vorbis.ogg", "1_opus.opus",
        "1_cbr.mp3", "1_bare.mp3", "1_tag.mp3"}) {
    CAPTURE(name);
    const std::string file = ClipFile(name);
    const std::size_t step = file.size() / 150 + 1;
    for (std::size_t size = 0; size < file.size(); size += step) {
      const auto numbers = Decoded(std::string_view(file).substr(0, size));
      if (numbers.ok()) continue;
      UNSCOPED_INFO(size << " " << numbers.status());
      CHECK_THAT(numbers, HasCode(absl::StatusCode::kDataLoss));
    }
  }
}

TEST_CASE("The clip decoder says that a file is truncated",
          "[audio][any_clip_decoder]") {
  const std::string flac = ClipFile("1_s16.flac");
  const auto cut = Decoded(std::string_view(flac).substr(0, flac.size() - 30));
  CHECK_THAT(cut, HasCode(absl::StatusCode::kDataLoss));
  // The encoder of the MP3 file has written the length of the sound into it.
  const std::string mp3 = ClipFile("1_cbr.mp3");
  const auto half = Decoded(std::string_view(mp3).substr(0, mp3.size() / 2));
  CHECK_THAT(half, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(half.status().message(),
             Contains("is a truncated MP3 file: it has"));
  const std::string wav = ClipFile("2_s16.wav");
  const auto short_one =
      Decoded(std::string_view(wav).substr(0, wav.size() - 7));
  CHECK(short_one.status() ==
        absl::DataLossError(
            "is a truncated WAV file: it lacks 7 bytes of its sound"));
  const std::string ogg = ClipFile("1_vorbis.ogg");
  const auto first = Decoded(std::string_view(ogg).substr(0, ogg.size() - 9));
  CHECK(first.status() ==
        absl::DataLossError("is a truncated Ogg file: its end is not there"));
}

// A writer into a pipe does not know how long the sound will be, and leaves the
// length open.
TEST_CASE("The clip decoder reads a WAV file that does not say its length",
          "[audio][any_clip_decoder]") {
  const std::string whole = ClipFile("2_s16.wav");
  const std::size_t length = whole.find("data") + 4;
  for (const std::string_view unknown :
       {"\xff\xff\xff\xff", "\x24\xf0\xff\x7f"}) {
    std::string streamed = whole;
    streamed.replace(length, 4, unknown);
    CHECK(Decoded(streamed) == Decoded(whole));
  }
}

TEST_CASE("The clip decoder refuses other files than whole clips",
          "[audio][any_clip_decoder]") {
  CHECK_THAT(Decoded("").status().message(), Contains("is an empty file"));
  CHECK_THAT(Decoded("FORM....AIFF").status().message(),
             Contains("is not a WAV, FLAC, Ogg or MP3 file"));
  CHECK_THAT(Decoded("RIFF....WAVE"), HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(Decoded("fLaC"), HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(Decoded("OggS"), HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(Decoded("ID3"), HasCode(absl::StatusCode::kDataLoss));
}

// The header claims 2^36 - 1 frames, more than the file can have.
TEST_CASE(
    "The clip decoder copes with a header that lies about a clip's length",
    "[audio][any_clip_decoder]") {
  std::string file = ClipFile("1_s16.flac");
  // The number of frames is in the last 36 bits before this offset.
  constexpr std::size_t kFrames = 4 + 4 + 13;
  file[kFrames] = static_cast<char>(file[kFrames] | 0x0F);
  for (std::size_t i = 1; i <= 4; ++i) file[kFrames + i] = '\xff';
  AnyClipDecoder decoder;
  const auto clip = decoder.Open(AsBytes(file));
  REQUIRE_THAT(clip, IsOk());
  CHECK(clip->frames == (std::uint64_t{1} << 36) - 1);
  std::vector<float> numbers(1000);
  CHECK_THAT(decoder.Decode(0, absl::MakeSpan(numbers)),
             HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("The clip decoder decodes nothing before it is open",
          "[audio][any_clip_decoder]") {
  AnyClipDecoder decoder;
  std::vector<float> numbers(1);
  CHECK_THAT(decoder.Decode(0, absl::MakeSpan(numbers)),
             HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK_FALSE(decoder.Open(AsBytes("nothing")).ok());
  CHECK_THAT(decoder.Decode(0, absl::MakeSpan(numbers)),
             HasCode(absl::StatusCode::kFailedPrecondition));
}

// A part of a file gives the same length as the whole file, or none.
TEST_CASE("The clip decoder measures a file by a part",
          "[audio][any_clip_decoder]") {
  std::size_t told = 0;
  for (const GoldenClip& golden : GoldenClips()) {
    INFO(golden.name);
    const std::string file = ClipFile(golden.name);
    const auto all = AsBytes(file);
    const auto measure = [&](std::size_t head, std::size_t tail) {
      AnyClipDecoder decoder;
      const auto clip = decoder.Measure(
          PartialFile(file.size(), all.first(head), all.last(tail)));
      CHECK_THAT(clip, IsOk());
      const bool is_told = clip.ok() && clip->has_value();
      if (is_told) {
        CHECK((*clip)->frames == golden.frames);
        CHECK((*clip)->channels == golden.channels);
        CHECK((*clip)->sample_rate == golden.sample_rate);
      }
      return is_told;
    };
    CHECK(measure(file.size(), 0));
    for (std::size_t head = 0; head < file.size(); head += 1 + file.size() / 9)
      for (std::size_t tail = 0; head + tail <= file.size();
           tail += 1 + file.size() / 7)
        told += measure(head, tail) ? 1 : 0;
    // The first 100 bytes of a WAV file are enough, because they contain its
    // header.
    if (golden.name.ends_with("s16.wav")) {
      CHECK(measure(100, 0));
    }
  }
  CHECK(told > 100u);
}

TEST_CASE("The clip decoder does not measure what it does not open",
          "[audio][any_clip_decoder]") {
  // The header of an .au file has everything that libsndfile needs.
  std::string file(".snd\0\0\0\x18\0\0\x03\xe8\0\0\0\x03\0\0\x3e\x80\0\0\0\x01",
                   24);
  file.append(1000, '.');
  AnyClipDecoder decoder;
  CHECK_THAT(decoder.Open(AsBytes(file)), HasCode(absl::StatusCode::kDataLoss));
  const auto measured =
      decoder.Measure(PartialFile(file.size(), AsBytes(file).first(500), {}));
  REQUIRE_THAT(measured, IsOk());
  CHECK_FALSE(measured->has_value());
}

TEST_CASE("The clip decoder calls only all of a file damaged and never a part",
          "[audio][any_clip_decoder]") {
  const std::string file = "RIFF1234WAVE" + std::string(3000, 'x');
  AnyClipDecoder decoder;
  const auto part =
      decoder.Measure(PartialFile(file.size(), AsBytes(file).first(2000), {}));
  REQUIRE_THAT(part, IsOk());
  CHECK_FALSE(part->has_value());
  CHECK_THAT(decoder.Measure(PartialFile(AsBytes(file))),
             HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("The clip decoder serves one file after another",
          "[audio][any_clip_decoder]") {
  AnyClipDecoder decoder;
  for (const char* const name :
       {"1_s16.wav", "2_cbr.mp3", "2_vorbis.ogg", "1_s24.flac", "1_low.mp3"}) {
    const std::string file = ClipFile(name);
    const auto clip = decoder.Open(AsBytes(file));
    CAPTURE(name);
    REQUIRE_THAT(clip, IsOk());
    std::vector<float> numbers(clip->frames * clip->channels);
    REQUIRE_THAT(decoder.Decode(0, absl::MakeSpan(numbers)), IsOk());
    CHECK(numbers == *Decoded(file));
  }
}

}  // namespace
}  // namespace forebay::audio
