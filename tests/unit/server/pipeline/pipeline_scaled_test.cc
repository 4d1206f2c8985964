// Tests of pipelines that decode at a smaller scale: coordinates, draws, and
// when they do.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/pipeline/decode/any_image_decoder.h"
#include "server/pipeline/pipeline.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/decode/golden_images.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

using Catch::WithinAbs;
using tests::IsOk;

using Bytes = std::vector<std::uint8_t>;

constexpr char kScaled[] = "ops { decode { scaled: true } } ";
constexpr char kLast[] = "ops { to_image { layout: NHWC } } ";
constexpr char kFlips[] =
    "ops { random_horizontal_flip { p: 1 } } "
    "ops { random_vertical_flip { p: 1 } } ";
constexpr char kCrop[] =
    "ops { random_resized_crop { height: 9 width: 11 scale_min: 0.3 "
    "scale_max: 1 ratio_min: 0.75 ratio_max: 1.33 } } ";

Bytes Made(const std::string& text, const Bytes& file,
           const SampleKey& key = {}) {
  const auto pipeline = Pipeline::Create(Spec(text + kLast));
  CHECK_THAT(pipeline, IsOk());
  Workspace workspace{WorkspaceLimits()};
  Bytes out((*pipeline)->output().bytes);
  const absl::Status status =
      (*pipeline)->Run(file, key, workspace, absl::MakeSpan(out));
  CHECK_THAT(status, IsOk());
  return out;
}

struct Span {
  double first;
  double length;
};

// An image that is resized by definition. At() returns channel `c` of one
// pixel: the mean of the decoded pixels around it, weighted by triangles across
// and down.
class Reference {
 public:
  Reference(const Bytes& file, std::uint32_t factor) {
    decode::AnyImageDecoder decoder{decode::DecodeLimits{}};
    const decode::ImageInfo info = decoder.Open(file).value();
    const decode::Reduction reduction = decoder.Reduce(factor);
    CHECK(reduction.factor == factor);
    width_ = reduction.Reduced(info.width);
    height_ = reduction.Reduced(info.height);
    const decode::Region all = {0, 0, width_, height_};
    decode::PixelSink sink(all);
    CHECK_THAT(decoder.Decode(all, sink), IsOk());
    pixels_ = sink.pixels();
  }

  double At(Span x, Span y, int columns, int rows, int column, int row,
            int c) const {
    const std::vector<double> across = Weights(x, columns, column, width_);
    const std::vector<double> down = Weights(y, rows, row, height_);
    double sum = 0;
    for (std::size_t i = 0; i < down.size(); ++i) {
      if (down[i] == 0) continue;
      for (std::size_t j = 0; j < across.size(); ++j) {
        sum += down[i] * across[j] *
               pixels_[3 * (i * width_ + j) + static_cast<std::size_t>(c)];
      }
    }
    return sum;
  }

 private:
  static std::vector<double> Weights(Span span, int count, int at,
                                     std::uint32_t length) {
    const double scale = span.length / count;
    const double center = span.first + (at + 0.5) * scale;
    std::vector<double> weights(length);
    double sum = 0;
    for (std::uint32_t i = 0; i < length; ++i) {
      if (i + 1 <= span.first || i >= span.first + span.length) continue;
      weights[i] = std::max(0.0, 1 - std::fabs(i + 0.5 - center) / scale);
      sum += weights[i];
    }
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  Bytes pixels_;
};

// The image 420.jpg has 203 x 149 pixels.
TEST_CASE("A scaled pipeline scales coordinates exactly",
          "[pipeline][pipeline_scaled]") {
  const Bytes file = decode::GoldenFile("420.jpg");
  for (const std::uint32_t factor : {2, 4, 8}) {
    const Reference reference(file, factor);
    for (const int extra : {0, 1}) {
      // The crop begins at column 11 and row 5.
      const int columns = 181 / static_cast<int>(factor) - extra;
      const int rows = 139 / static_cast<int>(factor) - extra;
      const std::string resize = absl::StrCat(
          "ops { center_crop { height: 139 width: 181 } } "
          "ops { resize { height: ",
          rows, " width: ", columns, " } } ");
      const Bytes plain = Made(kScaled + resize, file);
      const Bytes flipped = Made(kScaled + std::string(kFlips) + resize, file);
      const double unit = factor;
      for (int y = 0; y < rows; ++y) {
        for (int x = 0; x < columns; ++x) {
          for (int c = 0; c < 3; ++c) {
            const auto at = static_cast<std::size_t>((y * columns + x) * 3 + c);
            const auto mirrored = static_cast<std::size_t>(
                ((rows - 1 - y) * columns + columns - 1 - x) * 3 + c);
            const double expected =
                reference.At({11 / unit, 181 / unit}, {5 / unit, 139 / unit},
                             columns, rows, x, y, c);
            UNSCOPED_INFO("1/" << factor << " x " << x << " y " << y);
            REQUIRE_THAT(plain[at], WithinAbs(expected, 1.6));
            UNSCOPED_INFO("1/" << factor << " x " << x << " y " << y
                               << ", flipped");
            REQUIRE_THAT(flipped[mirrored], WithinAbs(expected, 1.6));
          }
        }
      }
    }
  }
}

TEST_CASE("A scaled pipeline draws the same as an exact one",
          "[pipeline][pipeline_scaled]") {
  const Bytes file = decode::GoldenFile("420.jpg");
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    const SampleKey key = {1, 2, sample};
    const std::string ops =
        kCrop + std::string("ops { random_horizontal_flip { p: 0.5 } } ");
    const Bytes exact = Made(ops, file, key);
    const Bytes scaled = Made(kScaled + ops, file, key);
    CHECK(exact != scaled);
    double difference = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
      difference += std::abs(exact[i] - scaled[i]);
    CAPTURE(sample);
    CHECK(difference / static_cast<double>(exact.size()) < 8);
  }
}

TEST_CASE("A scaled pipeline scales turned images",
          "[pipeline][pipeline_scaled]") {
  constexpr char kTurn[] = "ops { exif_transpose {} } ";
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Bytes file =
        decode::GoldenFile(absl::StrCat("upright/", orientation, ".jpg"));
    const std::string resize = "ops { resize { height: 6 width: 6 } } ";
    const Bytes exact = Made(kTurn + resize, file);
    const Bytes scaled = Made(kScaled + std::string(kTurn) + resize, file);
    CHECK(exact != scaled);
    double difference = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
      difference += std::abs(exact[i] - scaled[i]);
    CAPTURE(orientation);
    CHECK(difference / static_cast<double>(exact.size()) < 5);
  }
}

TEST_CASE("A scaled pipeline is exact where an image cannot be scaled",
          "[pipeline][pipeline_scaled]") {
  const Bytes jpeg = decode::GoldenFile("420.jpg");
  const std::string eighth = "ops { resize { height: 18 width: 25 } } ";
  CHECK(Made(kScaled + eighth, jpeg) != Made(eighth, jpeg));
  const auto filtered = [](const char* filter) {
    return absl::StrCat(
        "ops { resize { height: 18 width: 25 interpolation: ", filter, " } } ");
  };
  const std::string ops[] = {
      "ops { resize { height: 75 width: 101 } } ",  // not smaller by two
      "ops { resize { height: 18 width: 150 } } ",
      filtered("NEAREST"),
      filtered("BILINEAR_ALIASED"),
      "ops { center_crop { height: 40 width: 50 } } ",
      "ops { grayscale { num_output_channels: 3 } } " + eighth,
      "ops { resize { height: 149 width: 203 } } " + eighth,
  };
  for (const std::string& op : ops) {
    CAPTURE(op);
    CHECK(Made(kScaled + op, jpeg) == Made(op, jpeg));
  }
  for (const char* name : {"filtered.png", "lossy.webp", "rgb_lzw.tif"}) {
    const Bytes file = decode::GoldenFile(name);
    CHECK(Made(kScaled + std::string("ops { resize { height: 5 width: 7 } }"),
               file) == Made("ops { resize { height: 5 width: 7 } }", file));
  }
}

}  // namespace
}  // namespace forebay::pipeline
