#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_OPS_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_OPS_H_

#include <array>
#include <cstdint>
#include <variant>

namespace forebay::pipeline::transform {

// The ops as the plan runs them, checked and with defaults filled in. Lengths
// are in pixels, at most 65535 each.

// All but the last are antialiased as in Pillow. The last takes the four pixels
// around a point, however much the image shrinks.
enum class Filter { kNearest, kBilinear, kBicubic, kBilinearAliased };
enum class PadMode { kConstant, kEdge, kReflect, kSymmetric };

struct Resize {
  std::int64_t height = 0;
  std::int64_t width = 0;     // if 0, `height` is the shorter edge
  std::int64_t max_size = 0;  // if 0, there is none
  Filter filter = Filter::kBilinear;
};

struct CenterCrop {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

struct Padding {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t right = 0;
  std::int64_t bottom = 0;
  PadMode mode = PadMode::kConstant;
};

struct RandomCrop {
  std::int64_t height = 0;
  std::int64_t width = 0;
  Padding padding;
  bool pad_if_needed = false;
};

struct RandomResizedCrop {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::array<double, 2> scale{};
  std::array<double, 2> ratio{};
  std::array<float, 2> log_ratio{};  // of `ratio` in float32, as torch's
  Filter filter = Filter::kBilinear;
};

struct RandomFlip {
  bool horizontal = true;
  float p = 0;
};

struct Interval {
  bool set = false;
  double min = 0;
  double max = 0;
};

struct ColorJitter {
  Interval brightness;
  Interval contrast;
  Interval saturation;
  Interval hue;
};

struct Grayscale {};

using PixelOp = std::variant<Resize, CenterCrop, RandomCrop, RandomResizedCrop,
                             RandomFlip, ColorJitter, Grayscale, Padding>;

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_OPS_H_
