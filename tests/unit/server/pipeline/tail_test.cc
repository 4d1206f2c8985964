// Tests that a pipeline's two parts, one after the other, make what the whole
// pipeline makes.
#include "server/pipeline/tail.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
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
constexpr char kFlip[] = "ops { random_horizontal_flip { p: 0.5 } } ";
constexpr char kToFloat[] = "ops { to_dtype { dtype: FLOAT32 scale: true } } ";
constexpr char kPaddedCrop[] =
    "ops { random_crop { height: 26 width: 30 padding { left: 4 top: 5 right: "
    "6 bottom: 7 } pad_if_needed: true } } ";

std::unique_ptr<Pipeline> Make(const std::string& text, Part part) {
  auto pipeline = Pipeline::Create(Spec(text), part);
  CHECK_THAT(pipeline, IsOk());
  return *std::move(pipeline);
}

Bytes MakeFrom(const Pipeline& pipeline, const Bytes& file,
               const SampleKey& key) {
  Workspace workspace{WorkspaceLimits()};
  Bytes out(pipeline.output().bytes);
  CHECK_THAT(pipeline.Run(file, key, workspace, absl::MakeSpan(out)), IsOk());
  return out;
}

// Computes the tail by its definition, one element at a time.
Bytes Finish(const Tail& tail, const Bytes& pixels) {
  const auto channels = static_cast<std::size_t>(tail.channels);
  const std::size_t element_bytes = proto::SizeOf(tail.table.dtype);
  const std::size_t size = pixels.size() / channels;
  Bytes elements(pixels.size() * element_bytes);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t c = i % channels;
    const std::size_t at = tail.channels_last ? i : c * size + i / channels;
    // The CPU is little-endian, so the element is the low bytes of its bits.
    std::memcpy(&elements[at * element_bytes], &tail.table.bits[c][pixels[i]],
                element_bytes);
  }
  return elements;
}

std::vector<std::string> Specs() {
  const std::string image_net = kImageNet, crop = kCrop;
  std::vector<std::string> specs = {
      crop,
      crop + kFlip + image_net,
      crop + image_net + kFlip,
      crop + "ops { to_image { layout: NHWC } } " + image_net,
      crop + "ops { grayscale { num_output_channels: 1 } } " + kToFloat +
          "ops { normalize { mean: 0.5 std: 0.25 } } ",
      crop + "ops { grayscale { num_output_channels: 3 } } " + image_net,
      kPaddedCrop + image_net,
      kToFloat + std::string(kPaddedCrop) + kFlip,
      "ops { resize { height: 40 width: 30 } } " + std::string(kToFloat) +
          "ops { center_crop { height: 60 width: 20 } } ",
      "ops { resize { height: 40 width: 30 } } " + image_net +
          "ops { random_crop { height: 48 width: 40 padding { left: 9 top: 9 "
          "right: 9 bottom: 9 mode: REFLECT } } } ",
  };
  for (const char* const dtype : {"FLOAT16", "BFLOAT16"}) {
    specs.push_back(crop + "ops { to_dtype { dtype: " + dtype +
                    " scale: true } } " +
                    "ops { normalize { mean: 0.4 std: 0.2 } } ");
  }
  return specs;
}

TEST_CASE("Two parts of a pipeline make what the whole makes",
          "[pipeline][tail]") {
  for (const std::string& text : Specs()) {
    const auto whole = Make(text, Part::kWhole);
    const auto part = Make(text, Part::kBeforeTail);
    CHECK(whole->tail() == nullptr);
    CAPTURE(text);
    REQUIRE(part->tail() != nullptr);
    CHECK(part->output().dtype == proto::DType::kUint8);
    CHECK(part->tail()->table.dtype == whole->output().dtype);
    for (const decode::GoldenImage& image : decode::GoldenImages()) {
      INFO(image.name + " " + text);
      const Bytes file = decode::GoldenFile(image.name);
      for (std::uint64_t sample = 0; sample < 3; ++sample) {
        const SampleKey key = {3, 1, sample};
        REQUIRE(Finish(*part->tail(), MakeFrom(*part, file, key)) ==
                MakeFrom(*whole, file, key));
      }
    }
  }
}

TEST_CASE("A pipeline without its tail shares the variant of the whole",
          "[pipeline][tail]") {
  for (const std::string& text : Specs()) {
    CAPTURE(text);
    CHECK(Make(text, Part::kBeforeTail)->variant() ==
          Make(text, Part::kWhole)->variant());
  }
}

TEST_CASE(
    "A pipeline keeps its tail where its padding has a value that no pixel "
    "becomes",
    "[pipeline][tail]") {
  for (const std::string& text :
       {kImageNet + std::string(kPaddedCrop),
        "ops { resize { height: 40 width: 30 } } " + std::string(kImageNet) +
            "ops { center_crop { height: 60 width: 20 } } "}) {
    const auto whole = Make(text, Part::kWhole);
    const auto part = Make(text, Part::kBeforeTail);
    CHECK(part->tail() == nullptr);
    CHECK(part->output().dtype == proto::DType::kFloat32);
    const Bytes file = decode::GoldenFile(decode::GoldenImages()[0].name);
    CHECK(MakeFrom(*part, file, {}) == MakeFrom(*whole, file, {}));
  }
}

}  // namespace
}  // namespace forebay::pipeline
