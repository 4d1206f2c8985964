// Tests that a sample is the same to the bit, whether it is made from the
// encoded image or from its variant.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/pipeline/pipeline.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

using tests::IsOk;

using Bytes = std::vector<std::uint8_t>;

constexpr char kCrop[] =
    "ops { random_resized_crop { height: 20 width: 24 scale_min: 0.08 "
    "scale_max: 1 ratio_min: 0.75 ratio_max: 1.33 } } ";
constexpr char kFlips[] =
    "ops { random_horizontal_flip { p: 0.5 } } "
    "ops { random_vertical_flip { p: 0.5 } } ";
constexpr char kResize[] = "ops { resize { height: 32 } } ";
constexpr char kMiddle[] = "ops { center_crop { height: 28 width: 28 } } ";
constexpr char kRandomMiddle[] =
    "ops { random_crop { height: 26 width: 26 padding { left: 2 top: 3 right: "
    "1 bottom: 2 mode: REFLECT } pad_if_needed: true } } ";
constexpr char kScaled[] = "ops { decode { scaled: true } } ";
constexpr char kColor[] =
    "ops { color_jitter { brightness { min: 0.6 max: 1.4 } "
    "hue { min: -0.1 max: 0.1 } } } ";

std::unique_ptr<Pipeline> Make(const std::string& text) {
  auto pipeline = Pipeline::Create(Spec(text));
  CHECK_THAT(pipeline, IsOk());
  return *std::move(pipeline);
}

// A target with memory for a variant, or without.
class Target final : public VariantTarget {
 public:
  explicit Target(bool has_room = true) : has_room_(has_room) {}
  absl::Span<std::uint8_t> RoomFor(std::uint64_t bytes) override {
    asked_ = true;
    if (has_room_) variant_.resize(bytes);
    return absl::MakeSpan(variant_);
  }
  void Filled() override { filled_ = true; }

  bool asked() const { return asked_; }
  bool filled() const { return filled_; }
  const Bytes& variant() const { return variant_; }

 private:
  const bool has_room_;
  bool asked_ = false;
  bool filled_ = false;
  Bytes variant_;
};

std::vector<std::string> Specs() {
  const std::string image_net = kImageNet;
  return {
      kCrop + std::string(kFlips) + image_net,
      kFlips + std::string(kCrop),
      kColor + std::string(kCrop) + kColor + image_net,
      kResize + std::string(kMiddle) + image_net,
      kResize + std::string(kRandomMiddle) + kFlips,
      kResize + std::string(kColor) + kMiddle,
      "ops { resize { height: 300 width: 200 interpolation: BICUBIC } } " +
          std::string(kMiddle) + kCrop,
      "ops { resize { height: 50 width: 60 } } "
      "ops { center_crop { height: 80 width: 70 } } "
      "ops { resize { height: 31 width: 44 interpolation: BICUBIC } } " +
          std::string(kFlips),
      "ops { resize { height: 40 width: 30 interpolation: NEAREST } } " +
          image_net + "ops { center_crop { height: 60 width: 50 } } ",
      kMiddle + std::string(kFlips),
      kScaled + std::string(kResize) + kMiddle + kFlips,
      // Among the golden images is one with an EXIF orientation.
      "ops { exif_transpose {} } " + std::string(kCrop),
      kScaled + std::string("ops { exif_transpose {} } ") + kResize + kMiddle,
      // The second op could reduce the image where the first one does nothing.
      kScaled + std::string("ops { resize { height: 149 } } ") + kCrop,
  };
}

TEST_CASE("A pipeline makes the same from the variant of every kind of image",
          "[pipeline][pipeline_variant]") {
  Workspace workspace{WorkspaceLimits()};
  const auto images = decode::GoldenImages();
  for (const std::string& text : Specs()) {
    const auto pipeline = Make(text);
    Bytes plain(pipeline->output().bytes);
    Bytes kept(plain.size());
    Bytes from_variant(plain.size());
    for (const decode::GoldenImage& image : images) {
      INFO(image.name + " " + text);
      const Bytes file = decode::GoldenFile(image.name);
      Target target;
      const SampleKey maker = {1, 2, 3};
      REQUIRE_THAT(pipeline->Run(file, maker, workspace, absl::MakeSpan(plain)),
                   IsOk());
      REQUIRE_THAT(pipeline->RunAndKeep(file, maker, workspace,
                                        absl::MakeSpan(kept), target),
                   IsOk());
      REQUIRE(plain == kept);
      REQUIRE(target.filled());
      for (std::uint64_t sample = 0; sample < 3; ++sample) {
        const SampleKey key = {7, sample, 5 * sample};
        REQUIRE_THAT(pipeline->Run(file, key, workspace, absl::MakeSpan(plain)),
                     IsOk());
        REQUIRE_THAT(pipeline->RunFromVariant(target.variant(), key, workspace,
                                              absl::MakeSpan(from_variant)),
                     IsOk());
        REQUIRE(plain == from_variant);
      }
    }
  }
}

TEST_CASE("A variant serves every pipeline that begins in the same way",
          "[pipeline][pipeline_variant]") {
  const auto variant = [](const std::string& text) {
    return Make(text)->variant();
  };
  const std::uint64_t decoded = variant(kCrop);
  CHECK(decoded != 0u);
  CHECK(decoded == variant(kCrop + std::string(kImageNet)));
  CHECK(decoded == variant(kColor + std::string(kMiddle)));
  // A variant of the middle alone would not be smaller, and would serve fewer
  // pipelines.
  CHECK(decoded == variant(kMiddle));
  const std::uint64_t resized = variant(kResize + std::string(kRandomMiddle));
  CHECK(resized != decoded);
  CHECK(resized == variant(kResize + std::string(kColor) + kMiddle));
  const std::uint64_t middle = variant(kResize + std::string(kMiddle));
  CHECK(middle != resized);
  CHECK(middle == variant(kResize + std::string(kMiddle) + kFlips + kImageNet));
  CHECK(variant("ops { resize { height: 33 } } " +
                std::string(kRandomMiddle)) != resized);
  CHECK(variant("ops { resize { height: 32 interpolation: BICUBIC } } " +
                std::string(kRandomMiddle)) != resized);
}

TEST_CASE(
    "A pipeline has a variant of its own where it decodes images otherwise",
    "[pipeline][pipeline_variant]") {
  const auto variant = [](const std::string& text) {
    return Make(text)->variant();
  };
  const std::string resized = kResize + std::string(kRandomMiddle);
  const std::string turn = "ops { exif_transpose {} } ";
  const std::set<std::uint64_t> variants = {variant(kCrop),
                                            variant(turn + kCrop),
                                            variant(resized),
                                            variant(turn + resized),
                                            variant(kScaled + resized),
                                            variant(kScaled + turn + resized),
                                            kNoVariant};
  CHECK(variants.size() == 7u);
  CHECK(variant(kCrop) == variant("ops { decode {} } " + std::string(kCrop)));
}

TEST_CASE("A pipeline has no variant where each draw has a scale of its own",
          "[pipeline][pipeline_variant]") {
  const auto pipeline = Make(kScaled + std::string(kCrop));
  CHECK(pipeline->variant() == kNoVariant);
  Workspace workspace{WorkspaceLimits()};
  const Bytes file = decode::GoldenFile("420.jpg");
  Bytes plain(pipeline->output().bytes), kept(plain.size());
  Target target;
  REQUIRE_THAT(pipeline->Run(file, {}, workspace, absl::MakeSpan(plain)),
               IsOk());
  REQUIRE_THAT(
      pipeline->RunAndKeep(file, {}, workspace, absl::MakeSpan(kept), target),
      IsOk());
  CHECK(plain == kept);
  CHECK_FALSE(target.asked());
}

TEST_CASE("A pipeline goes on as ever where its variant has no room",
          "[pipeline][pipeline_variant]") {
  Workspace workspace{WorkspaceLimits()};
  const Bytes file = decode::GoldenFile("420.jpg");
  for (const std::string& text : Specs()) {
    const auto pipeline = Make(text);
    Bytes plain(pipeline->output().bytes);
    Bytes kept(plain.size());
    Target target(/*has_room=*/false);
    REQUIRE_THAT(
        pipeline->Run(file, {4, 5, 6}, workspace, absl::MakeSpan(plain)),
        IsOk());
    REQUIRE_THAT(pipeline->RunAndKeep(file, {4, 5, 6}, workspace,
                                      absl::MakeSpan(kept), target),
                 IsOk());
    CHECK(target.asked());
    CHECK_FALSE(target.filled());
    CHECK(plain == kept);
  }
}

TEST_CASE("Damage that a sample does not show is not an error of that sample",
          "[pipeline][pipeline_variant]") {
  // The damage is in the image's last rows, which not every crop reaches.
  Bytes file = decode::GoldenFile("filtered.png");
  const std::size_t end = file.size() - 12;
  for (std::size_t i = end - 600; i < end; ++i) file[i] ^= 0x55;
  const auto pipeline = Make("ops { random_crop { height: 4 width: 4 } } ");
  Workspace workspace{WorkspaceLimits()};
  Bytes plain(pipeline->output().bytes);
  Bytes kept(plain.size());
  int fine = 0;
  for (std::uint64_t sample = 0; sample < 60; ++sample) {
    const SampleKey key = {1, 1, sample};
    Target target;
    const absl::Status status =
        pipeline->Run(file, key, workspace, absl::MakeSpan(plain));
    CHECK(status == pipeline->RunAndKeep(file, key, workspace,
                                         absl::MakeSpan(kept), target));
    CHECK_FALSE(target.filled());
    if (!status.ok()) continue;
    ++fine;
    CHECK(plain == kept);
  }
  CHECK(fine > 0);
  CHECK(fine < 60);
}

}  // namespace
}  // namespace forebay::pipeline
