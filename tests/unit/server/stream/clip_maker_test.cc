#include "server/stream/clip_maker.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "proto/job.pb.h"
#include "server/audio/any_clip_decoder.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/audio/golden_clips.h"

namespace forebay::stream {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

using audio::AsBytes;
using audio::ClipFile;
using Ops = pipeline::ArrayTransform::Ops;

constexpr std::uint64_t kLongest = std::uint64_t{1} << 20;  // bytes
constexpr std::uint32_t kRate = 16000;

std::vector<float> Whole(const std::string& file) {
  audio::AnyClipDecoder decoder;
  const auto clip = decoder.Open(AsBytes(file));
  CHECK_THAT(clip, IsOk());
  std::vector<float> numbers(clip->frames * clip->channels);
  CHECK_THAT(decoder.Decode(0, absl::MakeSpan(numbers)), IsOk());
  return numbers;
}

std::unique_ptr<const pipeline::ArrayTransform> Made(const Ops& ops,
                                                     std::uint64_t channels) {
  const pipeline::TensorType first = {.dtype = proto::DType::kFloat32,
                                      .shape = {100, channels},
                                      .bytes = 400 * channels};
  auto made = pipeline::ArrayTransform::Create(ops, first, kLongest, kRate);
  CHECK_THAT(made, IsOk());
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

TEST_CASE("A clip without ops is decoded straight into its place",
          "[stream][clip_maker]") {
  for (const char* const name : {"2_s16.wav", "2_s24.flac", "2_vorbis.ogg"}) {
    const std::string file = ClipFile(name);
    const auto made = Make(*Made({}, 2), file, kLongest, /*scratch=*/0);
    REQUIRE_THAT(made, IsOk());
    CAPTURE(name);
    CHECK(*made == Whole(file));
  }
}

TEST_CASE("A window of a clip takes no more scratch than itself",
          "[stream][clip_maker]") {
  Ops ops;
  ops.Add()->mutable_random_window()->set_length(100);
  // The transposition of a single channel does not change its order of values.
  proto::Transpose* const transpose = ops.Add()->mutable_transpose();
  for (const std::uint32_t axis : {1, 0}) transpose->add_order(axis);
  const std::string file = ClipFile("1_s16.flac");
  const auto made = Make(*Made(ops, 1), file, 400, /*scratch=*/1024);
  REQUIRE_THAT(made, IsOk());
  const std::vector<float> whole = Whole(file);
  CHECK(std::search(whole.begin(), whole.end(), made->begin(), made->end()) !=
        whole.end());
  const auto too_much = Make(*Made(ops, 1), file, 400, /*scratch=*/64);
  CHECK_THAT(too_much, HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE("The padding of a short clip is zero", "[stream][clip_maker]") {
  Ops ops;
  ops.Add()->mutable_random_window()->set_length(700);
  ops[0].mutable_random_window()->set_pad_if_needed(true);
  const std::string file = ClipFile("1_s16.wav");  // a clip of 640 frames
  const auto made = Make(*Made(ops, 1), file, 2800);
  REQUIRE_THAT(made, IsOk());
  std::vector<float> expected = Whole(file);
  expected.resize(700);
  CHECK(*made == expected);
}

TEST_CASE("Only the window of a clip that is resampled is decoded",
          "[stream][clip_maker]") {
  Ops ops;
  ops.Add()->mutable_to_mono();
  ops.Add()->mutable_resample()->set_new_freq(8000);
  ops.Add()->mutable_slice()->set_stop(20);
  const std::string file = ClipFile("2_s16.wav");
  const auto made = Make(*Made(ops, 2), file);
  REQUIRE_THAT(made, IsOk());
  ops.RemoveLast();
  const auto whole = Make(*Made(ops, 2), file);
  REQUIRE_THAT(whole, IsOk());
  CHECK(*made == std::vector<float>(whole->begin(), whole->begin() + 20));
  ops.Add()->mutable_slice()->set_stop(20);
  // The scratch memory is enough for the slice's frames, but not for all
  // frames.
  CHECK_THAT(Make(*Made(ops, 2), file, 80, /*scratch=*/2048), IsOk());
  CHECK(2048u < Whole(file).size() * sizeof(float));
}

TEST_CASE("The clip maker says what to do about a clip without room",
          "[stream][clip_maker]") {
  const auto made = Make(*Made({}, 1), ClipFile("1_s16.wav"), 640);
  CHECK_THAT(made, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(made.status().message(),
             Contains("becomes 2560 bytes, more than the 640"));
  CHECK_THAT(made.status().message(), Contains("by Slice or RandomWindow"));
}

TEST_CASE(
    "The clip maker refuses a clip with other channels and names their number",
    "[stream][clip_maker]") {
  const auto made = Make(*Made({}, 1), ClipFile("2_s16.wav"));
  CHECK_THAT(made, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(made.status().message(),
             Contains("has 2 channels, but the first one has 1"));
}

TEST_CASE("The clip maker fails as the decoder does", "[stream][clip_maker]") {
  CHECK_THAT(Make(*Made({}, 1), "no audio"),
             HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::stream
