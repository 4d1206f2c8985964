// A sample is the same, bit for bit, whether made from the encoded image or
// from its variant.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/pipeline/pipeline.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

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
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *std::move(pipeline);
}

// Memory for a variant, or none.
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
      // One of the images is to be turned.
      "ops { exif_transpose {} } " + std::string(kCrop),
      kScaled + std::string("ops { exif_transpose {} } ") + kResize + kMiddle,
      // Where the first op does nothing, the second could shrink.
      kScaled + std::string("ops { resize { height: 149 } } ") + kCrop,
  };
}

TEST(PipelineVariantTest, MakesTheSameFromEveryKindOfImage) {
  Workspace workspace{WorkspaceLimits()};
  const auto images = decode::GoldenImages();
  for (const std::string& text : Specs()) {
    const auto pipeline = Make(text);
    Bytes plain(pipeline->output().bytes);
    Bytes kept(plain.size());
    Bytes from_variant(plain.size());
    for (const decode::GoldenImage& image : images) {
      SCOPED_TRACE(image.name + " " + text);
      const Bytes file = decode::GoldenFile(image.name);
      Target target;
      const SampleKey maker = {1, 2, 3};
      ASSERT_TRUE(
          pipeline->Run(file, maker, workspace, absl::MakeSpan(plain)).ok());
      ASSERT_TRUE(
          pipeline
              ->RunAndKeep(file, maker, workspace, absl::MakeSpan(kept), target)
              .ok());
      ASSERT_EQ(plain, kept);
      ASSERT_TRUE(target.filled());
      for (std::uint64_t sample = 0; sample < 3; ++sample) {
        const SampleKey key = {7, sample, 5 * sample};
        ASSERT_TRUE(
            pipeline->Run(file, key, workspace, absl::MakeSpan(plain)).ok());
        ASSERT_TRUE(pipeline
                        ->RunFromVariant(target.variant(), key, workspace,
                                         absl::MakeSpan(from_variant))
                        .ok());
        ASSERT_EQ(plain, from_variant);
      }
    }
  }
}

TEST(PipelineVariantTest, ServesEveryPipelineThatBeginsSo) {
  const auto variant = [](const std::string& text) {
    return Make(text)->variant();
  };
  const std::uint64_t decoded = variant(kCrop);
  EXPECT_NE(decoded, 0u);
  EXPECT_EQ(decoded, variant(kCrop + std::string(kImageNet)));
  EXPECT_EQ(decoded, variant(kColor + std::string(kMiddle)));
  // The middle alone is no smaller, and serves fewer.
  EXPECT_EQ(decoded, variant(kMiddle));
  const std::uint64_t resized = variant(kResize + std::string(kRandomMiddle));
  EXPECT_NE(resized, decoded);
  EXPECT_EQ(resized, variant(kResize + std::string(kColor) + kMiddle));
  const std::uint64_t middle = variant(kResize + std::string(kMiddle));
  EXPECT_NE(middle, resized);
  EXPECT_EQ(middle,
            variant(kResize + std::string(kMiddle) + kFlips + kImageNet));
  EXPECT_NE(
      variant("ops { resize { height: 33 } } " + std::string(kRandomMiddle)),
      resized);
  EXPECT_NE(variant("ops { resize { height: 32 interpolation: BICUBIC } } " +
                    std::string(kRandomMiddle)),
            resized);
}

TEST(PipelineVariantTest, IsOfItsOwnWhereImagesAreDecodedOtherwise) {
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
  EXPECT_EQ(variants.size(), 7u);
  EXPECT_EQ(variant(kCrop), variant("ops { decode {} } " + std::string(kCrop)));
}

TEST(PipelineVariantTest, ThereIsNoneWhereEachDrawHasAScaleOfItsOwn) {
  const auto pipeline = Make(kScaled + std::string(kCrop));
  EXPECT_EQ(pipeline->variant(), kNoVariant);
  Workspace workspace{WorkspaceLimits()};
  const Bytes file = decode::GoldenFile("420.jpg");
  Bytes plain(pipeline->output().bytes), kept(plain.size());
  Target target;
  ASSERT_TRUE(pipeline->Run(file, {}, workspace, absl::MakeSpan(plain)).ok());
  ASSERT_TRUE(
      pipeline->RunAndKeep(file, {}, workspace, absl::MakeSpan(kept), target)
          .ok());
  EXPECT_EQ(plain, kept);
  EXPECT_FALSE(target.asked());
}

TEST(PipelineVariantTest, GoesOnAsEverWhereThereIsNoRoom) {
  Workspace workspace{WorkspaceLimits()};
  const Bytes file = decode::GoldenFile("420.jpg");
  for (const std::string& text : Specs()) {
    const auto pipeline = Make(text);
    Bytes plain(pipeline->output().bytes);
    Bytes kept(plain.size());
    Target target(/*has_room=*/false);
    ASSERT_TRUE(
        pipeline->Run(file, {4, 5, 6}, workspace, absl::MakeSpan(plain)).ok());
    ASSERT_TRUE(pipeline
                    ->RunAndKeep(file, {4, 5, 6}, workspace,
                                 absl::MakeSpan(kept), target)
                    .ok());
    EXPECT_TRUE(target.asked());
    EXPECT_FALSE(target.filled());
    EXPECT_EQ(plain, kept);
  }
}

TEST(PipelineVariantTest, DamageThatASampleDoesNotShowIsNoErrorOfIt) {
  // Its last rows are cut out, where the crop does not come.
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
    EXPECT_EQ(status, pipeline->RunAndKeep(file, key, workspace,
                                           absl::MakeSpan(kept), target));
    EXPECT_FALSE(target.filled());
    if (!status.ok()) continue;
    ++fine;
    EXPECT_EQ(plain, kept);
  }
  EXPECT_GT(fine, 0);
  EXPECT_LT(fine, 60);
}

}  // namespace
}  // namespace forebay::pipeline
