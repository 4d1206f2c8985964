#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_OPS_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_OPS_H_

#include <array>
#include <cstdint>
#include <variant>

namespace forebay::pipeline::transform {

// Defines the ops on pixels that a program runs. Their parameters are checked,
// and defaults are filled in. Each op does what torchvision's transform of the
// same name does. Lengths are in pixels, at most 65,535 each.

// The filter of a resize. kBilinear and kBicubic are antialiased as in Pillow:
// the more the image shrinks, the more pixels the filter covers. kNearest takes
// one pixel. kBilinearAliased takes the four pixels around a point, however
// much the image shrinks.
enum class Filter { kNearest, kBilinear, kBicubic, kBilinearAliased };
// The pixels that padding shows: a color, the edge's pixel, or the mirrored
// image. kSymmetric repeats the edge's pixel in the mirrored image; kReflect
// does not.
enum class PadMode { kConstant, kEdge, kReflect, kSymmetric };

// Scales an image to a size.
struct Resize {
  std::int64_t height = 0;
  // Width; 0 if `height` is the length of the shorter edge.
  std::int64_t width = 0;
  // The most pixels of the longer edge; 0 if there is no bound.
  std::int64_t max_size = 0;
  Filter filter = Filter::kBilinear;
};

// Crops the middle of an image.
struct CenterCrop {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// Adds pixels around an image.
struct Padding {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t right = 0;
  std::int64_t bottom = 0;
  PadMode mode = PadMode::kConstant;
};

// Pads an image, and crops it at a random place.
struct RandomCrop {
  std::int64_t height = 0;
  std::int64_t width = 0;
  Padding padding;
  // Whether images that are smaller than the crop are padded; if not, they are
  // errors.
  bool pad_if_needed = false;
};

// Crops a part of random area and aspect ratio, and scales it to a size.
struct RandomResizedCrop {
  std::int64_t height = 0;
  std::int64_t width = 0;
  // Least and greatest area of the crop, relative to the image's area.
  std::array<double, 2> scale{};
  // Least and greatest aspect ratio of the crop: its width divided by its
  // height.
  std::array<double, 2> ratio{};
  // Logarithms of `ratio` in float32, as torch computes them.
  std::array<float, 2> log_ratio{};
  Filter filter = Filter::kBilinear;
};

// Mirrors an image with probability `p`, left to right or top to bottom.
struct RandomFlip {
  bool horizontal = true;
  float p = 0;
};

// The range from which a factor is drawn. If `set` is false, no factor is
// drawn.
struct Interval {
  bool set = false;
  double min = 0;
  double max = 0;
};

// Changes brightness, contrast, saturation and hue by random factors, in a
// random order.
struct ColorJitter {
  Interval brightness;
  Interval contrast;
  Interval saturation;
  Interval hue;
};

// Sets all channels to the luma.
struct Grayscale {};

using PixelOp = std::variant<Resize, CenterCrop, RandomCrop, RandomResizedCrop,
                             RandomFlip, ColorJitter, Grayscale, Padding>;

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_OPS_H_
