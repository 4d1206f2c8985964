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
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/spec.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

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
  CHECK_THAT(pipeline, IsOk());
  return *std::move(pipeline);
}

Bytes Scene() { return transform::ReadGolden("scene.png"); }

Bytes TensorOf(const Pipeline& pipeline, const SampleKey& key,
               Workspace& workspace) {
  Bytes out(pipeline.output().bytes);
  const absl::Status status =
      pipeline.Run(Scene(), key, workspace, absl::MakeSpan(out));
  CHECK_THAT(status, IsOk());
  return out;
}

TEST_CASE("A pipeline's result depends on the sample's key alone",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make(kAugment);
  Workspace one{WorkspaceLimits()}, other{WorkspaceLimits()};
  std::set<Bytes> seen;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    const SampleKey key{3, 1, sample};
    seen.insert(TensorOf(*pipeline, key, one));
    TensorOf(*pipeline, {9, 9, sample}, other);
    CAPTURE(sample);
    CHECK(TensorOf(*pipeline, key, one) == TensorOf(*pipeline, key, other));
  }
  CHECK(seen.size() > 18u);
  CHECK(TensorOf(*pipeline, {3, 1, 0}, one) !=
        TensorOf(*pipeline, {3, 2, 0}, one));
  CHECK(TensorOf(*pipeline, {3, 1, 0}, one) !=
        TensorOf(*pipeline, {4, 1, 0}, one));
}

TEST_CASE("Crops that follow the conversion fill with floats",
          "[pipeline][pipeline_run]") {
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
    if (value == 3.0F) {  // the fill value: (7 - 1) / 2
      ++filled;
    } else {
      CHECK(value <= 0);
    }
  }
  CHECK(filled == 3 * (64 - 16));
}

TEST_CASE("A pipeline enforces the limit of scratch",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make(
      "ops { color_jitter { hue { min: 0.1 max: 0.1 } } "
      "} ops { center_crop { height: 8 width: 8 } }");
  Workspace workspace{{1'000'000, 32'000}};
  Bytes out(pipeline->output().bytes);
  const absl::Status status =
      pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out));
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(status.message(), Contains("bytes"));
}

// Returns a raw image of noise.
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

TEST_CASE("Color ops before a resize need scratch for the image only once",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make(kColors + std::string(kMiddle));
  const Bytes file = RawImage(1000, 800);
  Workspace workspace{{.scratch_bytes = file.size() + (64 << 10)}};
  Bytes out(pipeline->output().bytes);
  const absl::Status status =
      pipeline->Run(file, {}, workspace, absl::MakeSpan(out));
  CHECK_THAT(status, IsOk());
}

TEST_CASE("A workspace says when a larger one may do",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make(kColors + std::string(kMiddle));
  const Bytes file = RawImage(1000, 800);
  Workspace enough{WorkspaceLimits()};
  Bytes expected(pipeline->output().bytes);
  REQUIRE_THAT(pipeline->Run(file, {}, enough, absl::MakeSpan(expected)),
               IsOk());
  CHECK_FALSE(enough.WantsLarger());
  // Decoding itself needs more than the first of these workspaces has.
  for (const std::uint64_t scratch : {1'000, 1'000'000}) {
    Bytes out(expected.size());
    Workspace alone{{.scratch_bytes = scratch}};
    CHECK_THAT(pipeline->Run(file, {}, alone, absl::MakeSpan(out)),
               HasCode(absl::StatusCode::kResourceExhausted));
    CHECK_FALSE(alone.WantsLarger());
    Workspace small{
        {.scratch_bytes = scratch, .larger_scratch_bytes = 3 << 20}};
    CHECK_THAT(pipeline->Run(file, {}, small, absl::MakeSpan(out)),
               HasCode(absl::StatusCode::kResourceExhausted));
    CHECK(small.WantsLarger());
    // The failure of another image does not count.
    CHECK_THAT(pipeline->Run({}, {}, small, absl::MakeSpan(out)),
               HasCode(absl::StatusCode::kDataLoss));
    CHECK_FALSE(small.WantsLarger());
    Workspace larger{{.scratch_bytes = 3 << 20}};
    REQUIRE_THAT(pipeline->Run(file, {}, larger, absl::MakeSpan(out)), IsOk());
    CHECK(out == expected);
  }
}

TEST_CASE("A pipeline's image may lie in the workspace",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make(kColors + std::string(kMiddle));
  const Bytes file = RawImage(1000, 800);
  Workspace workspace{{.scratch_bytes = 2 * file.size() + (64 << 10)}};
  Bytes expected(pipeline->output().bytes);
  REQUIRE_THAT(pipeline->Run(file, {}, workspace, absl::MakeSpan(expected)),
               IsOk());
  for (int round = 0; round < 2; ++round) {
    const auto room = workspace.RoomToDecompress(file.size());
    REQUIRE_THAT(room, IsOk());
    std::copy(file.begin(), file.end(), room->begin());
    Bytes out(expected.size());
    for (int again = 0; again < 2; ++again) {
      const absl::Status status =
          pipeline->Run(*room, {}, workspace, absl::MakeSpan(out));
      REQUIRE_THAT(status, IsOk());
      CHECK(out == expected);
    }
  }
  // The room for decompressed bytes is a part of what one image may need.
  Workspace small{{.scratch_bytes = file.size() + (64 << 10),
                   .larger_scratch_bytes = 8 << 20}};
  const auto room = small.RoomToDecompress(file.size());
  REQUIRE_THAT(room, IsOk());
  std::copy(file.begin(), file.end(), room->begin());
  CHECK_THAT(pipeline->Run(*room, {}, small, absl::MakeSpan(expected)),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(small.WantsLarger());
  CHECK_THAT(small.RoomToDecompress(7 << 20),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(small.WantsLarger());
}

TEST_CASE("The error of a large image names the setting of the limit",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make(kColors + std::string(kMiddle));
  const Bytes file = RawImage(1000, 800);
  Bytes out(pipeline->output().bytes);
  for (const std::uint64_t scratch : {1'000, 1'000'000}) {
    Workspace workspace{{.scratch_bytes = scratch}};
    const absl::Status status =
        pipeline->Run(file, {}, workspace, absl::MakeSpan(out));
    CAPTURE(status);
    CHECK_THAT(status.message(), Contains("image.scratch_limit"));
  }
}

TEST_CASE("Color ops see the windows and flips before them as they are",
          "[pipeline][pipeline_run]") {
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
      UNSCOPED_INFO(window << flip);
      CHECK(TensorOf(*settled, key, workspace) == expected);
      UNSCOPED_INFO(window << flip);
      CHECK(TensorOf(*twice, key, workspace) == expected);
    }
  }
}

TEST_CASE("A pipeline enforces the limit of pixels",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make("ops { center_crop { height: 8 width: 8 } }");
  Workspace workspace{{90 * 70 - 1, 1 << 20}};
  Bytes out(pipeline->output().bytes);
  CHECK_THAT(pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out)),
             HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE("Corrupt bytes of an image harm nothing in a pipeline",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make(kAugment);
  Workspace workspace{WorkspaceLimits()};
  Bytes out(pipeline->output().bytes);
  Bytes scene = Scene();
  const Bytes before = TensorOf(*pipeline, {}, workspace);
  for (std::size_t length = 0; length < scene.size() - 12; length += 37) {
    CAPTURE(length);
    CHECK_THAT(pipeline->Run({scene.data(), length}, {}, workspace,
                             absl::MakeSpan(out)),
               HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK(TensorOf(*pipeline, {}, workspace) == before);
}

TEST_CASE("A crop larger than its image is an error",
          "[pipeline][pipeline_run]") {
  const auto pipeline = Make("ops { random_crop { height: 80 width: 80 } }");
  Workspace workspace{WorkspaceLimits()};
  Bytes out(pipeline->output().bytes);
  const absl::Status status =
      pipeline->Run(Scene(), {}, workspace, absl::MakeSpan(out));
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK(std::string(status.message()) ==
        "RandomCrop(80, 80) is larger than the 90 x 70 image: set "
        "pad_if_needed");
}

TEST_CASE("A crop may show nothing but padding", "[pipeline][pipeline_run]") {
  const auto pipeline = Make(
      "ops { center_crop { height: 4 width: 4 } } "
      "ops { pad { padding { left: 60000 top: 60000 fill: 5 } } } "
      "ops { random_crop { height: 6 width: 6 } }");
  Workspace workspace{WorkspaceLimits()};
  CHECK(TensorOf(*pipeline, {}, workspace) == Bytes(108, 5));
}

}  // namespace
}  // namespace forebay::pipeline
