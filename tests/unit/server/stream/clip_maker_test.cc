#include "server/stream/clip_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "server/audio/any_clip_decoder.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::stream {
namespace {

using audio::AsBytes;
using audio::ClipFile;
using Ops = pipeline::ArrayTransform::Ops;
using testing::HasSubstr;

constexpr std::uint64_t kLongest = std::uint64_t{1} << 20;  // bytes
constexpr std::uint32_t kRate = 16000;

std::vector<float> Whole(const std::string& file) {
  audio::AnyClipDecoder decoder;
  const auto clip = decoder.Open(AsBytes(file));
  EXPECT_TRUE(clip.ok()) << clip.status();
  std::vector<float> numbers(clip->frames * clip->channels);
  EXPECT_TRUE(decoder.Decode(0, absl::MakeSpan(numbers)).ok());
  return numbers;
}

std::unique_ptr<const pipeline::ArrayTransform> Made(const Ops& ops,
                                                     std::uint64_t channels) {
  const pipeline::TensorType first = {.dtype = proto::DType::kFloat32,
                                      .shape = {100, channels},
                                      .bytes = 400 * channels};
  auto made = pipeline::ArrayTransform::Create(ops, first, kLongest, kRate);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

absl::StatusOr<std::vector<float>> Make(
    const pipeline::ArrayTransform& pipeline, const std::string& file,
    std::size_t room = kLongest, std::uint64_t scratch = kLongest) {
  pipeline::Workspace workspace(
      {.max_pixels = 1, .scratch_bytes = scratch, .larger_scratch_bytes = 0});
  std::vector<float> out(room / sizeof(float));
  auto* const bytes = reinterpret_cast<std::uint8_t*>(out.data());
  const auto made =
      MakeClip(pipeline, AsBytes(file), {.seed = 4}, workspace, {bytes, room});
  if (!made.ok()) return made.status();
  out.resize(*made / sizeof(float));
  return out;
}

TEST(ClipMakerTest, WithoutOpsItDecodesStraightIntoItsPlace) {
  for (const char* const name : {"2_s16.wav", "2_s24.flac", "2_vorbis.ogg"}) {
    const std::string file = ClipFile(name);
    const auto made = Make(*Made({}, 2), file, kLongest, /*scratch=*/0);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(*made, Whole(file)) << name;
  }
}

TEST(ClipMakerTest, AWindowTakesNoMoreScratchThanItself) {
  Ops ops;
  ops.Add()->mutable_random_window()->set_length(100);
  // With one channel, the numbers stay as they are.
  proto::Transpose* const transpose = ops.Add()->mutable_transpose();
  for (const std::uint32_t axis : {1, 0}) transpose->add_order(axis);
  const std::string file = ClipFile("1_s16.flac");
  const auto made = Make(*Made(ops, 1), file, 400, /*scratch=*/1024);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::vector<float> whole = Whole(file);
  EXPECT_NE(std::search(whole.begin(), whole.end(), made->begin(), made->end()),
            whole.end());
  const auto too_much = Make(*Made(ops, 1), file, 400, /*scratch=*/64);
  EXPECT_TRUE(absl::IsResourceExhausted(too_much.status()));
}

TEST(ClipMakerTest, PaddingIsZero) {
  Ops ops;
  ops.Add()->mutable_random_window()->set_length(700);
  ops[0].mutable_random_window()->set_pad_if_needed(true);
  const std::string file = ClipFile("1_s16.wav");  // of 640 frames
  const auto made = Make(*Made(ops, 1), file, 2800);
  ASSERT_TRUE(made.ok()) << made.status();
  std::vector<float> expected = Whole(file);
  expected.resize(700);
  EXPECT_EQ(*made, expected);
}

TEST(ClipMakerTest, OfAClipThatIsResampledOnlyTheWindowIsDecoded) {
  Ops ops;
  ops.Add()->mutable_to_mono();
  ops.Add()->mutable_resample()->set_new_freq(8000);
  ops.Add()->mutable_slice()->set_stop(20);
  const std::string file = ClipFile("2_s16.wav");
  const auto made = Make(*Made(ops, 2), file);
  ASSERT_TRUE(made.ok()) << made.status();
  ops.RemoveLast();
  const auto whole = Make(*Made(ops, 2), file);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(*made, std::vector<float>(whole->begin(), whole->begin() + 20));
  ops.Add()->mutable_slice()->set_stop(20);
  // Room for so many frames, not for all of them.
  EXPECT_TRUE(Make(*Made(ops, 2), file, 80, /*scratch=*/2048).ok());
  EXPECT_LT(2048u, Whole(file).size() * sizeof(float));
}

TEST(ClipMakerTest, SaysWhatToDoAboutAClipWithoutRoom) {
  const auto made = Make(*Made({}, 1), ClipFile("1_s16.wav"), 640);
  EXPECT_TRUE(absl::IsDataLoss(made.status()));
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("becomes 2560 bytes, more than the 640"));
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("by Slice or RandomWindow"));
}

TEST(ClipMakerTest, NamesOtherChannels) {
  const auto made = Make(*Made({}, 1), ClipFile("2_s16.wav"));
  EXPECT_TRUE(absl::IsInvalidArgument(made.status()));
  EXPECT_THAT(std::string(made.status().message()),
              HasSubstr("has 2 channels, but the first one has 1"));
}

TEST(ClipMakerTest, FailsAsTheDecoderDoes) {
  EXPECT_TRUE(absl::IsDataLoss(Make(*Made({}, 1), "no audio").status()));
}

}  // namespace
}  // namespace forebay::stream
