#include "server/audio/any_clip_decoder.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::audio {
namespace {

using testing::HasSubstr;

constexpr float kLossy = 1e-5F;
constexpr unsigned kSeed = 3;

// All of a file, or the error.
absl::StatusOr<std::vector<float>> Decoded(std::string_view file) {
  AnyClipDecoder decoder;
  const auto clip = decoder.Open(AsBytes(file));
  if (!clip.ok()) return clip.status();
  // None of these files is longer.
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
  EXPECT_TRUE(clip.ok()) << clip.status();
  std::vector<float> numbers(frames * clip->channels);
  const absl::Status status = decoder.Decode(begin, absl::MakeSpan(numbers));
  EXPECT_TRUE(status.ok()) << status;
  return numbers;
}

float Difference(absl::Span<const float> a, absl::Span<const float> b) {
  float worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST(AnyClipDecoderTest, GivesWhatSoundfileGives) {
  for (const GoldenClip& golden : GoldenClips()) {
    SCOPED_TRACE(golden.name);
    const std::string file = ClipFile(golden.name);
    AnyClipDecoder decoder;
    const auto clip = decoder.Open(AsBytes(file));
    ASSERT_TRUE(clip.ok()) << clip.status();
    EXPECT_EQ(clip->frames, golden.frames);
    EXPECT_EQ(clip->channels, golden.channels);
    EXPECT_EQ(clip->sample_rate, golden.sample_rate);
    const auto numbers = Decoded(file);
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    if (golden.crc.has_value()) {
      const uLong crc =
          crc32(0, reinterpret_cast<const Bytef*>(numbers->data()),
                static_cast<uInt>(numbers->size() * sizeof(float)));
      EXPECT_EQ(crc, *golden.crc);
    } else {
      std::vector<float> some;
      for (std::size_t i = 0; i < numbers->size(); i += kGoldenStep)
        some.push_back((*numbers)[i]);
      ASSERT_EQ(some.size(), golden.values.size());
      EXPECT_LT(Difference(some, golden.values), kLossy);
    }
  }
}

TEST(AnyClipDecoderTest, AWindowIsAPartOfTheWhole) {
  std::mt19937 draws(kSeed);
  for (const GoldenClip& golden : GoldenClips()) {
    SCOPED_TRACE(golden.name);
    if (golden.frames < 600) continue;
    const std::string file = ClipFile(golden.name);
    const auto whole = Decoded(file);
    ASSERT_TRUE(whole.ok()) << whole.status();
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t begin = draws() % golden.frames;
      const std::uint64_t most = golden.frames - begin;
      const std::uint64_t frames = i == 0 ? most : draws() % most + 1;
      const auto part =
          absl::MakeConstSpan(*whole).subspan(begin * golden.channels);
      EXPECT_LT(Difference(Window(file, begin, frames), part), kLossy)
          << begin << " " << frames;
    }
  }
}

// soundfile reads what lies behind them.
TEST(AnyClipDecoderTest, TagsAreSkipped) {
  const std::string tag =
      std::string("ID3\x04\0\0\0\0\0\x09", 10) + std::string(9, '.');
  for (const char* const name :
       {"1_s16.wav", "2_s24.wav", "1_s16.flac", "2_cbr.mp3"}) {
    SCOPED_TRACE(name);
    const std::string file = ClipFile(name);
    const auto whole = Decoded(file);
    ASSERT_TRUE(whole.ok()) << whole.status();
    for (const std::string& tags : {tag, tag + tag}) {
      const auto tagged = Decoded(tags + file);
      ASSERT_TRUE(tagged.ok()) << tagged.status();
      EXPECT_EQ(*tagged, *whole);
    }
  }
}

TEST(AnyClipDecoderTest, NumbersThatAreNonePass) {
  const auto odd = Decoded(ClipFile("1_odd.wav"));
  ASSERT_TRUE(odd.ok()) << odd.status();
  ASSERT_EQ(odd->size(), 5u);
  EXPECT_TRUE(std::isnan((*odd)[0]));
  EXPECT_TRUE(std::isinf((*odd)[1]));
  EXPECT_EQ((*odd)[3], 2.5F);
}

// Each file that is cut off anywhere is decoded as far as it goes, or refused.
TEST(AnyClipDecoderTest, FilesMayEndAnywhere) {
  for (const char* const name :
       {"2_s16.wav", "1_ima.wav", "1_s16.flac", "1_vorbis.ogg", "1_opus.opus",
        "1_cbr.mp3", "1_bare.mp3", "1_tag.mp3"}) {
    SCOPED_TRACE(name);
    const std::string file = ClipFile(name);
    const std::size_t step = file.size() / 150 + 1;
    for (std::size_t size = 0; size < file.size(); size += step) {
      const auto numbers = Decoded(std::string_view(file).substr(0, size));
      if (numbers.ok()) continue;
      EXPECT_TRUE(absl::IsDataLoss(numbers.status()))
          << size << " " << numbers.status();
    }
  }
}

TEST(AnyClipDecoderTest, SaysThatAFileIsTruncated) {
  const std::string flac = ClipFile("1_s16.flac");
  const auto cut = Decoded(std::string_view(flac).substr(0, flac.size() - 30));
  EXPECT_TRUE(absl::IsDataLoss(cut.status()));
  // Its encoder says how long it is.
  const std::string mp3 = ClipFile("1_cbr.mp3");
  const auto half = Decoded(std::string_view(mp3).substr(0, mp3.size() / 2));
  EXPECT_TRUE(absl::IsDataLoss(half.status()));
  EXPECT_THAT(std::string(half.status().message()),
              HasSubstr("is a truncated MP3 file: it has"));
  const std::string wav = ClipFile("2_s16.wav");
  const auto short_one =
      Decoded(std::string_view(wav).substr(0, wav.size() - 7));
  EXPECT_EQ(short_one.status(),
            absl::DataLossError(
                "is a truncated WAV file: it lacks 7 bytes of its sound"));
  const std::string ogg = ClipFile("1_vorbis.ogg");
  const auto first = Decoded(std::string_view(ogg).substr(0, ogg.size() - 9));
  EXPECT_EQ(
      first.status(),
      absl::DataLossError("is a truncated Ogg file: its end is not there"));
}

// A writer into a pipe does not know how long the sound will be.
TEST(AnyClipDecoderTest, AWavFileMayNotSayItsLength) {
  const std::string whole = ClipFile("2_s16.wav");
  const std::size_t length = whole.find("data") + 4;
  for (const std::string_view unknown :
       {"\xff\xff\xff\xff", "\x24\xf0\xff\x7f"}) {
    std::string streamed = whole;
    streamed.replace(length, 4, unknown);
    EXPECT_EQ(Decoded(streamed), Decoded(whole));
  }
}

TEST(AnyClipDecoderTest, RefusesOtherFiles) {
  EXPECT_THAT(std::string(Decoded("").status().message()),
              HasSubstr("is an empty file"));
  EXPECT_THAT(std::string(Decoded("FORM....AIFF").status().message()),
              HasSubstr("is no WAV, FLAC, Ogg or MP3 file"));
  EXPECT_TRUE(absl::IsDataLoss(Decoded("RIFF....WAVE").status()));
  EXPECT_TRUE(absl::IsDataLoss(Decoded("fLaC").status()));
  EXPECT_TRUE(absl::IsDataLoss(Decoded("OggS").status()));
  EXPECT_TRUE(absl::IsDataLoss(Decoded("ID3").status()));
}

// A header speaks of 2^36 - 1 frames, which are more than the file can have.
TEST(AnyClipDecoderTest, AHeaderMayLie) {
  std::string file = ClipFile("1_s16.flac");
  constexpr std::size_t kFrames = 4 + 4 + 13;  // the last 36 bits before this
  file[kFrames] = static_cast<char>(file[kFrames] | 0x0F);
  for (std::size_t i = 1; i <= 4; ++i) file[kFrames + i] = '\xff';
  AnyClipDecoder decoder;
  const auto clip = decoder.Open(AsBytes(file));
  ASSERT_TRUE(clip.ok()) << clip.status();
  EXPECT_EQ(clip->frames, (std::uint64_t{1} << 36) - 1);
  std::vector<float> numbers(1000);
  EXPECT_TRUE(absl::IsDataLoss(decoder.Decode(0, absl::MakeSpan(numbers))));
}

TEST(AnyClipDecoderTest, NothingIsDecodedBeforeItIsOpen) {
  AnyClipDecoder decoder;
  std::vector<float> numbers(1);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(decoder.Decode(0, absl::MakeSpan(numbers))));
  EXPECT_FALSE(decoder.Open(AsBytes("nothing")).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(decoder.Decode(0, absl::MakeSpan(numbers))));
}

// A part of a file tells the same as all of it does, or nothing.
TEST(AnyClipDecoderTest, MeasuresAFileByAPart) {
  std::size_t told = 0;
  for (const GoldenClip& golden : GoldenClips()) {
    SCOPED_TRACE(golden.name);
    const std::string file = ClipFile(golden.name);
    const auto all = AsBytes(file);
    const auto measure = [&](std::size_t head, std::size_t tail) {
      AnyClipDecoder decoder;
      const auto clip = decoder.Measure(
          PartialFile(file.size(), all.first(head), all.last(tail)));
      EXPECT_TRUE(clip.ok()) << clip.status();
      const bool is_told = clip.ok() && clip->has_value();
      if (is_told) {
        EXPECT_EQ((*clip)->frames, golden.frames);
        EXPECT_EQ((*clip)->channels, golden.channels);
        EXPECT_EQ((*clip)->sample_rate, golden.sample_rate);
      }
      return is_told;
    };
    EXPECT_TRUE(measure(file.size(), 0));
    for (std::size_t head = 0; head < file.size(); head += 1 + file.size() / 9)
      for (std::size_t tail = 0; head + tail <= file.size();
           tail += 1 + file.size() / 7)
        told += measure(head, tail) ? 1 : 0;
    // A header is enough.
    if (golden.name.ends_with("s16.wav")) {
      EXPECT_TRUE(measure(100, 0));
    }
  }
  EXPECT_GT(told, 100u);
}

TEST(AnyClipDecoderTest, WhatIsNotOpenedIsNotMeasured) {
  // A file of Sun's, of which all that libsndfile needs is in the header.
  std::string file(".snd\0\0\0\x18\0\0\x03\xe8\0\0\0\x03\0\0\x3e\x80\0\0\0\x01",
                   24);
  file.append(1000, '.');
  AnyClipDecoder decoder;
  EXPECT_TRUE(absl::IsDataLoss(decoder.Open(AsBytes(file)).status()));
  const auto measured =
      decoder.Measure(PartialFile(file.size(), AsBytes(file).first(500), {}));
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_FALSE(measured->has_value());
}

TEST(AnyClipDecoderTest, OnlyAllOfAFileIsDamaged) {
  const std::string file = "RIFF1234WAVE" + std::string(3000, 'x');
  AnyClipDecoder decoder;
  const auto part =
      decoder.Measure(PartialFile(file.size(), AsBytes(file).first(2000), {}));
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_FALSE(part->has_value());
  EXPECT_TRUE(
      absl::IsDataLoss(decoder.Measure(PartialFile(AsBytes(file))).status()));
}

TEST(AnyClipDecoderTest, ServesOneFileAfterAnother) {
  AnyClipDecoder decoder;
  for (const char* const name :
       {"1_s16.wav", "2_cbr.mp3", "2_vorbis.ogg", "1_s24.flac", "1_low.mp3"}) {
    const std::string file = ClipFile(name);
    const auto clip = decoder.Open(AsBytes(file));
    ASSERT_TRUE(clip.ok()) << name;
    std::vector<float> numbers(clip->frames * clip->channels);
    ASSERT_TRUE(decoder.Decode(0, absl::MakeSpan(numbers)).ok()) << name;
    EXPECT_EQ(numbers, *Decoded(file)) << name;
  }
}

}  // namespace
}  // namespace forebay::audio
