#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "server/pipeline/pipeline.h"
#include "tests/unit/server/pipeline/spec.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr char kAugment[] =
    "ops { random_resized_crop { height: 16 width: 16 scale_min: 0.08 "
    "scale_max: 1 ratio_min: 0.75 ratio_max: 1.33 } } "
    "ops { color_jitter { brightness { min: 0.6 max: 1.4 } "
    "hue { min: -0.1 max: 0.1 } } } "
    "ops { random_crop { height: 16 width: 16 padding { left: 2 top: 2 "
    "right: 2 bottom: 2 } } } "
    "ops { random_horizontal_flip { p: 0.5 } } ";

std::unique_ptr<Pipeline> Make(const std::string& text) {
  auto pipeline = Pipeline::Create(Spec(text));
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *std::move(pipeline);
}

Bytes Scene() { return transform::ReadGolden("scene.png"); }

Bytes TensorOf(const Pipeline& pipeline, const SampleKey& key,
               Workspace& workspace) {
  Bytes out(pipeline.output().bytes);
  const absl::Status status =
      pipeline.Run(Scene(), key, workspace, absl::MakeSpan(out));
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(PipelineRunTest, DependsOnTheKeyAlone) {
  const auto pipeline = Make(kAugment);
  Workspace one{WorkspaceLimits()}, other{WorkspaceLimits()};
  std::set<Bytes> seen;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    const SampleKey key{3, 1, sample};
    seen.insert(TensorOf(*pipeline, key, one));
    TensorOf(*pipeline, {9, 9, sample}, other);
    EXPECT_EQ(TensorOf(*pipeline, key, one), TensorOf(*pipeline, key, other))
        << sample;
  }
  EXPECT_GT(seen.size(), 18u);
  EXPECT_NE(TensorOf(*pipeline, {3, 1, 0}, one),
            TensorOf(*pipeline, {3, 2, 0}, one));
  EXPECT_NE(TensorOf(*pipeline, {3, 1, 0}, one),
            TensorOf(*pipeline, {4, 1, 0}, one));
}

TEST(PipelineRunTest, LateCropsFillWithFloats) {
  const auto pipeline = Make(
      "ops { center_crop { height: 4 width: 4 } } "
      "ops { to_dtype { dtype: FLOAT32 scale: true } } "
      "ops { random_crop { height: 8 width: 8 pad_if_needed: true "
      "padding { fill: 7 } } } "
      "ops { normalize { mean: 1 std: 2 } }");
  Workspace workspace{WorkspaceLimits()};
  const Bytes out = TensorOf(*pipeline, {}, workspace);
  int filled = 0;
  for (std::size_t i = 0; i < out.size(); i += 4) {
    float value;
    std::memcpy(&value, &out[i], 4);
    if (value == 3.0F) {  // (7 - 1) / 2
      ++filled;
    } else {
      EXPECT_LE(value, 0);
    }
  }
  EXPECT_EQ(filled, 3 * (64 - 16));
}

TEST(PipelineRunTest, EnforcesTheLimitOfScratch) {
  const auto pipeline = Make(
      "ops { color_jitter { hue { min: 0.1 max: 0.1 } } "
      "} ops { center_crop { height: 8 width: 8 } }");
  Workspace workspace{{1'000'000, 32'000}};
  Bytes out(pipeline->output().bytes);
  const absl::Status status =
      pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(std::string(status.message()).find("bytes"), std::string::npos);
}

// A raw image of noise.
Bytes RawImage(std::uint32_t width, std::uint32_t height) {
  const proto::RawImageHeader header = {.magic = proto::kRawImageMagic,
                                        .width = width,
                                        .height = height,
                                        .channels = 3};
  Bytes file(sizeof(header) + std::size_t{3} * width * height);
  std::memcpy(file.data(), &header, sizeof(header));
  std::minstd_rand random(1);
  for (std::size_t i = sizeof(header); i < file.size(); ++i)
    file[i] = static_cast<std::uint8_t>(random() >> 8);
  return file;
}

constexpr char kColors[] =
    "ops { color_jitter { brightness { min: 0.5 max: 0.5 } } } "
    "ops { grayscale { num_output_channels: 3 } } ";
constexpr char kMiddle[] = "ops { center_crop { height: 8 width: 8 } } ";

TEST(PipelineRunTest, ColorBeforeAResizeNeedsTheImageOnce) {
  const auto pipeline = Make(kColors + std::string(kMiddle));
  const Bytes file = RawImage(1000, 800);
  Workspace workspace{{.scratch_bytes = file.size() + (64 << 10)}};
  Bytes out(pipeline->output().bytes);
  const absl::Status status =
      pipeline->Run(file, {}, workspace, absl::MakeSpan(out));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(PipelineRunTest, SaysWhenALargerWorkspaceMayDo) {
  const auto pipeline = Make(kColors + std::string(kMiddle));
  const Bytes file = RawImage(1000, 800);
  Workspace enough{WorkspaceLimits()};
  Bytes expected(pipeline->output().bytes);
  ASSERT_TRUE(pipeline->Run(file, {}, enough, absl::MakeSpan(expected)).ok());
  EXPECT_FALSE(enough.WantsLarger());
  // To decode needs more than the first workspace has.
  for (const std::uint64_t scratch : {1'000, 1'000'000}) {
    Bytes out(expected.size());
    Workspace alone{{.scratch_bytes = scratch}};
    EXPECT_EQ(pipeline->Run(file, {}, alone, absl::MakeSpan(out)).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_FALSE(alone.WantsLarger());
    Workspace small{
        {.scratch_bytes = scratch, .larger_scratch_bytes = 3 << 20}};
    EXPECT_EQ(pipeline->Run(file, {}, small, absl::MakeSpan(out)).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(small.WantsLarger());
    // Another image's failure does not count.
    EXPECT_EQ(pipeline->Run({}, {}, small, absl::MakeSpan(out)).code(),
              absl::StatusCode::kDataLoss);
    EXPECT_FALSE(small.WantsLarger());
    Workspace larger{{.scratch_bytes = 3 << 20}};
    ASSERT_TRUE(pipeline->Run(file, {}, larger, absl::MakeSpan(out)).ok());
    EXPECT_EQ(out, expected);
  }
}

TEST(PipelineRunTest, AnImageMayLieInTheWorkspace) {
  const auto pipeline = Make(kColors + std::string(kMiddle));
  const Bytes file = RawImage(1000, 800);
  Workspace workspace{{.scratch_bytes = 2 * file.size() + (64 << 10)}};
  Bytes expected(pipeline->output().bytes);
  ASSERT_TRUE(
      pipeline->Run(file, {}, workspace, absl::MakeSpan(expected)).ok());
  for (int round = 0; round < 2; ++round) {
    const auto room = workspace.RoomToUnpack(file.size());
    ASSERT_TRUE(room.ok()) << room.status();
    std::copy(file.begin(), file.end(), room->begin());
    Bytes out(expected.size());
    for (int again = 0; again < 2; ++again) {
      const absl::Status status =
          pipeline->Run(*room, {}, workspace, absl::MakeSpan(out));
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(out, expected);
    }
  }
  // It is a part of what one image may need.
  Workspace small{{.scratch_bytes = file.size() + (64 << 10),
                   .larger_scratch_bytes = 8 << 20}};
  const auto room = small.RoomToUnpack(file.size());
  ASSERT_TRUE(room.ok()) << room.status();
  std::copy(file.begin(), file.end(), room->begin());
  EXPECT_EQ(pipeline->Run(*room, {}, small, absl::MakeSpan(expected)).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(small.WantsLarger());
  EXPECT_EQ(small.RoomToUnpack(7 << 20).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(small.WantsLarger());
}

TEST(PipelineRunTest, TheErrorOfALargeImageNamesTheSetting) {
  const auto pipeline = Make(kColors + std::string(kMiddle));
  const Bytes file = RawImage(1000, 800);
  Bytes out(pipeline->output().bytes);
  for (const std::uint64_t scratch : {1'000, 1'000'000}) {
    Workspace workspace{{.scratch_bytes = scratch}};
    const absl::Status status =
        pipeline->Run(file, {}, workspace, absl::MakeSpan(out));
    EXPECT_NE(std::string(status.message()).find("image.scratch_limit"),
              std::string::npos)
        << status;
  }
}

TEST(PipelineRunTest, ColorSeesWindowsAndFlipsAsTheyAre) {
  const std::string windows[] = {
      "", "ops { center_crop { height: 45 width: 38 } } ",
      "ops { random_crop { height: 45 width: 38 } } ",
      "ops { center_crop { height: 90 width: 38 } } "};
  const std::string flips[] = {"", "ops { random_horizontal_flip { p: 1 } } ",
                               "ops { random_vertical_flip { p: 1 } } ",
                               "ops { random_horizontal_flip { p: 1 } } "
                               "ops { random_vertical_flip { p: 1 } } "};
  const std::string same =
      "ops { color_jitter { brightness { min: 1 max: 1 } } } ";
  const std::string end = "ops { center_crop { height: 40 width: 30 } } ";
  Workspace workspace{WorkspaceLimits()};
  for (const std::string& window : windows) {
    for (const std::string& flip : flips) {
      const auto plain = Make(absl::StrCat(window, flip, end));
      const auto settled = Make(absl::StrCat(window, flip, same, same, end));
      const auto twice = Make(absl::StrCat(window, same, flip, same, end));
      const SampleKey key{3, 1, 4};
      const Bytes expected = TensorOf(*plain, key, workspace);
      EXPECT_EQ(TensorOf(*settled, key, workspace), expected) << window << flip;
      EXPECT_EQ(TensorOf(*twice, key, workspace), expected) << window << flip;
    }
  }
}

TEST(PipelineRunTest, EnforcesTheLimitOfPixels) {
  const auto pipeline = Make("ops { center_crop { height: 8 width: 8 } }");
  Workspace workspace{{90 * 70 - 1, 1 << 20}};
  Bytes out(pipeline->output().bytes);
  EXPECT_EQ(pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out)).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(PipelineRunTest, CorruptBytesHarmNothing) {
  const auto pipeline = Make(kAugment);
  Workspace workspace{WorkspaceLimits()};
  Bytes out(pipeline->output().bytes);
  Bytes scene = Scene();
  const Bytes before = TensorOf(*pipeline, {}, workspace);
  for (std::size_t length = 0; length < scene.size() - 12; length += 37) {
    EXPECT_EQ(
        pipeline
            ->Run({scene.data(), length}, {}, workspace, absl::MakeSpan(out))
            .code(),
        absl::StatusCode::kDataLoss)
        << length;
  }
  EXPECT_EQ(TensorOf(*pipeline, {}, workspace), before);
}

TEST(PipelineRunTest, ACropLargerThanItsImageIsAnError) {
  const auto pipeline = Make("ops { random_crop { height: 80 width: 80 } }");
  Workspace workspace{WorkspaceLimits()};
  Bytes out(pipeline->output().bytes);
  const absl::Status status =
      pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "RandomCrop(80, 80) is larger than the 90 x 70 image: set "
            "pad_if_needed");
}

TEST(PipelineRunTest, ACropMayShowNothingButPadding) {
  const auto pipeline = Make(
      "ops { center_crop { height: 4 width: 4 } } "
      "ops { pad { padding { left: 60000 top: 60000 fill: 5 } } } "
      "ops { random_crop { height: 6 width: 6 } }");
  Workspace workspace{WorkspaceLimits()};
  EXPECT_EQ(TensorOf(*pipeline, {}, workspace), Bytes(108, 5));
}

}  // namespace
}  // namespace forebay::pipeline
