// Computes filter weights as Pillow's Resample.c does, in the same order of
// operations, so that resized pixels equal Pillow's to the bit.
//
// A position's center in the source is (position + 0.5) * scale. Its taps are
// the pixels within the filter's support around that center. The support is 1
// pixel for the triangle and 2 pixels for the cubic. It is stretched by the
// scale when the image shrinks. Weights are normalised to a sum of 1 in double,
// and rounded to 22 fraction bits. A view that shows its window reversed has
// the same taps, mirrored, so a flip costs nothing. The code goes over all
// positions twice. The first time, it finds the number and range of taps, which
// says what to read of the image. The second time, it computes the weights.

#include "server/pipeline/transform/taps.h"

#include <algorithm>
#include <cmath>

#include "server/base/status.h"

namespace forebay::pipeline::transform {
namespace {

// Number of taps above which rounding errors could add up and move sums out of
// 0 to 255, even with the triangle.
constexpr std::int32_t kMaxUnclippedTaps = 16000;

// The bilinear filter.
double Triangle(double x) { return std::max(1.0 - std::fabs(x), 0.0); }

// The bicubic filter, with Pillow's coefficient a = -0.5.
double Cubic(double x) {
  constexpr double kA = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0.0;
}

// The pixels that cover a view's window. They may be pixels of an image that is
// decoded at a smaller scale.
struct PixelWindow {
  PixelWindow(const AxisView& view, AxisScale scale) {
    const std::int64_t from = view.window_first() + scale.before;
    const std::int64_t to = from + view.window_length();
    first = from / scale.factor;
    end = (to + scale.factor - 1) / scale.factor;
    const std::int64_t outside = view.window_reversed()
                                     ? end * scale.factor - to
                                     : from - first * scale.factor;
    margin = static_cast<double>(outside) / static_cast<double>(scale.factor);
  }

  std::int64_t first;
  std::int64_t end;
  // The part of pixel `first`, 0 to 1, that lies before the window.
  double margin;
};

// Pillow's filter, stretched to the scale of one axis. An aliased filter is not
// stretched.
class Stretch {
 public:
  Stretch(const AxisView& view, const PixelWindow& window, AxisScale scale)
      : in_(static_cast<std::int32_t>(window.end - window.first)),
        margin_(window.margin),
        // Factors are powers of two, so this division is exact.
        scale_(static_cast<double>(view.window_length()) /
               static_cast<double>(view.grid_length()) /
               static_cast<double>(scale.factor)),
        cubic_(view.filter() == Filter::kBicubic) {
    const bool aliased = view.filter() == Filter::kBilinearAliased;
    const double filter_scale = aliased ? 1.0 : std::max(scale_, 1.0);
    support_ = (cubic_ ? 2.0 : 1.0) * filter_scale;
    inverse_ = 1.0 / filter_scale;
  }

  // The taps of one grid position.
  struct Span {
    double center;
    std::int32_t first;
    std::int32_t count;
  };

  // Returns the taps of a grid position, within the window.
  Span At(std::int64_t grid) const {
    const double center = margin_ + (static_cast<double>(grid) + 0.5) * scale_;
    // NOLINTBEGIN(bugprone-incorrect-roundings): Pillow's own arithmetic
    const auto first =
        std::max(static_cast<std::int32_t>(center - support_ + 0.5), 0);
    const auto end =
        std::min(static_cast<std::int32_t>(center + support_ + 0.5), in_);
    // NOLINTEND(bugprone-incorrect-roundings)
    return {center, first, end - first};
  }

  // Writes `span.count` weights to `weights`, `step` elements apart. `work` has
  // room for `span.count` numbers.
  void Weigh(const Span& span, std::int32_t* weights, std::int32_t step,
             double* work) const {
    if (cubic_) {
      WeighWith<Cubic>(span, weights, step, work);
    } else {
      WeighWith<Triangle>(span, weights, step, work);
    }
  }

 private:
  template <double (*kFilter)(double)>
  void WeighWith(const Span& span, std::int32_t* weights, std::int32_t step,
                 double* work) const {
    double sum = 0.0;
    for (std::int32_t i = 0; i < span.count; ++i) {
      const double weight =
          kFilter((i + span.first - span.center + 0.5) * inverse_);
      work[i] = weight;
      sum += weight;
    }
    for (std::int32_t i = 0; i < span.count; ++i) {
      const double weight = sum != 0.0 ? work[i] / sum : work[i];
      const double fixed = weight * (1 << kWeightBits);
      *weights =
          static_cast<std::int32_t>(weight < 0 ? -0.5 + fixed : 0.5 + fixed);
      weights += step;
    }
  }

  // Number of pixels that cover the window.
  std::int32_t in_;
  double margin_;
  double scale_;
  bool cubic_;
  double support_;
  double inverse_;
};

// Sets taps.first and taps.end to the range of pixels that the taps use, and
// makes `start` relative to taps.first. If `count` is null, each position has
// one tap.
void Bound(std::int32_t* start, const std::int32_t* count, Taps& taps) {
  taps.first = start[0];
  taps.end = 0;
  for (std::int32_t i = 0; i < taps.length; ++i) {
    taps.first = std::min<std::int64_t>(taps.first, start[i]);
    taps.end = std::max<std::int64_t>(
        taps.end, std::int64_t{start[i]} + (count != nullptr ? count[i] : 1));
    if (count != nullptr) taps.count = std::max(taps.count, count[i]);
  }
  for (std::int32_t i = 0; i < taps.length; ++i)
    start[i] -= static_cast<std::int32_t>(taps.first);
}

// Makes the taps of a view that is resized by a filter. `grid` has the grid
// pixel that each position shows. `start` has room for as many numbers.
absl::StatusOr<Taps> Filtered(const AxisView& view, Taps taps,
                              std::int32_t* start, const std::int32_t* grid,
                              Scratch& scratch, AxisScale scale) {
  const PixelWindow window(view, scale);
  const Stretch stretch(view, window, scale);
  const auto length = static_cast<std::uint64_t>(taps.length);
  FOREBAY_ASSIGN_OR_RETURN(std::int32_t * count,
                           scratch.Allocate<std::int32_t>(length, "resizing"));
  const auto origin = static_cast<std::int32_t>(window.first);
  const auto window_end = static_cast<std::int32_t>(window.end);
  for (std::int32_t i = 0; i < taps.length; ++i) {
    const Stretch::Span span = stretch.At(grid[i]);
    count[i] = span.count;
    start[i] = view.window_reversed() ? window_end - span.first - span.count
                                      : origin + span.first;
  }
  Bound(start, count, taps);
  const auto all = length * static_cast<std::uint64_t>(taps.count);
  FOREBAY_ASSIGN_OR_RETURN(std::int32_t * weights,
                           scratch.Allocate<std::int32_t>(all, "resizing"));
  FOREBAY_ASSIGN_OR_RETURN(
      double* work, scratch.Allocate<double>(
                        static_cast<std::uint64_t>(taps.count), "resizing"));
  std::fill_n(weights, all, 0);
  const auto last_start =
      static_cast<std::int32_t>(taps.end - taps.first) - taps.count;
  for (std::int32_t i = 0; i < taps.length; ++i) {
    // All positions have taps.count taps. Where these would reach beyond the
    // last pixel, they begin `shift` pixels earlier, with weights of 0.
    const std::int32_t shift = std::max(start[i] - last_start, 0);
    start[i] -= shift;
    std::int32_t* to = weights + std::int64_t{i} * taps.count + shift;
    const Stretch::Span span = stretch.At(grid[i]);
    if (view.window_reversed()) {
      stretch.Weigh(span, to + span.count - 1, -1, work);
    } else {
      stretch.Weigh(span, to, 1, work);
    }
  }
  taps.clip =
      view.filter() == Filter::kBicubic || taps.count > kMaxUnclippedTaps;
  taps.start = start;
  taps.weights = weights;
  return taps;
}

// Returns the image's pixel at the place `at` in the view's window.
std::int32_t NearestPixel(const AxisView& view, double at) {
  const std::int64_t last = view.window_length() - 1;
  const auto i =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, last);
  return static_cast<std::int32_t>(view.window_first() +
                                   (view.window_reversed() ? last - i : i));
}

// Replaces the grid pixels in `start` by the nearest pixels of the image. Like
// Pillow, adds `step` up pixel by pixel, because the rounding of the sum
// decides which pixel is nearest.
absl::Status NearestStarts(const AxisView& view, std::int32_t length,
                           std::int32_t* start, Scratch& scratch) {
  const double step = static_cast<double>(view.window_length()) /
                      static_cast<double>(view.grid_length());
  std::int64_t grid_end = 0;
  for (std::int32_t i = 0; i < length; ++i)
    grid_end = std::max<std::int64_t>(grid_end, start[i] + 1);
  FOREBAY_ASSIGN_OR_RETURN(
      std::int32_t * pixels,
      scratch.Allocate<std::int32_t>(static_cast<std::uint64_t>(grid_end),
                                     "resizing"));
  double at = 0.0 + step * 0.5;
  for (std::int64_t i = 0; i < grid_end; ++i, at += step)
    pixels[i] = NearestPixel(view, at);
  for (std::int32_t i = 0; i < length; ++i) start[i] = pixels[start[i]];
  return absl::OkStatus();
}

// Makes taps that copy one pixel for each position.
absl::StatusOr<Taps> Copied(Taps taps, std::int32_t* start, Scratch& scratch) {
  const auto length = static_cast<std::uint64_t>(taps.length);
  FOREBAY_ASSIGN_OR_RETURN(std::int32_t * weights,
                           scratch.Allocate<std::int32_t>(length, "cropping"));
  std::fill_n(weights, length, 1 << kWeightBits);
  taps.count = 1;
  Bound(start, nullptr, taps);
  taps.start = start;
  taps.weights = weights;
  return taps;
}

}  // namespace

absl::StatusOr<Taps> MakeTaps(const AxisView& view, Scratch& scratch,
                              AxisScale scale) {
  Taps taps;
  taps.length = static_cast<std::int32_t>(view.length());
  const auto length = static_cast<std::uint64_t>(taps.length);
  FOREBAY_ASSIGN_OR_RETURN(std::int32_t * grid,
                           scratch.Allocate<std::int32_t>(length, "cropping"));
  // A position that shows a fill gets the taps of another position.
  std::int64_t any = 0;
  for (std::int32_t i = 0; i < taps.length; ++i) {
    if (view.At(i) >= 0) any = view.At(i);
  }
  for (std::int32_t i = 0; i < taps.length; ++i) {
    const std::int64_t at = view.At(i);
    grid[i] = static_cast<std::int32_t>(at >= 0 ? at : any);
  }
  if (!view.resized()) return Copied(taps, grid, scratch);
  if (view.filter() == Filter::kNearest) {
    FOREBAY_RETURN_IF_ERROR(NearestStarts(view, taps.length, grid, scratch));
    return Copied(taps, grid, scratch);
  }
  FOREBAY_ASSIGN_OR_RETURN(std::int32_t * start,
                           scratch.Allocate<std::int32_t>(length, "resizing"));
  return Filtered(view, taps, start, grid, scratch, scale);
}

}  // namespace forebay::pipeline::transform
