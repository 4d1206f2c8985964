#include <array>
#include <utility>

#include "server/base/status.h"
#include "server/pipeline/image/image_ops.h"
#include "server/pipeline/image/op_parameters.h"
#include "server/pipeline/transform/color.h"

namespace forebay::pipeline::image {
namespace {

// The four changes of color, in the order in which their factors are drawn.
enum Adjustment { kBrightness, kContrast, kSaturation, kHue, kAdjustments };

// The range from which a factor is drawn. If `set` is false, no factor is
// drawn.
struct Interval {
  bool set = false;
  double min = 0;
  double max = 0;
};

// The choices of a ColorJitter.
struct Jitter {
  // Order of the changes.
  std::array<Adjustment, kAdjustments> order{kBrightness, kContrast,
                                             kSaturation, kHue};
  // Factor of each Adjustment, or turns of the hue.
  std::array<float, kAdjustments> factor{};
};

// Changes brightness, contrast, saturation and hue by random factors, in a
// random order.
class ColorJitter final : public ImageOp {
 public:
  explicit ColorJitter(const std::array<Interval, kAdjustments>& intervals)
      : intervals_(intervals) {}

  // Draws the order, and then the factors in the order of the Adjustments, as
  // torchvision does.
  absl::StatusOr<transform::Drawn> Draw(
      transform::ImageExtent /*extent*/,
      transform::Draws& draws) const override {
    Jitter jitter;
    // A Fisher-Yates shuffle, from the last place down.
    for (std::size_t i = jitter.order.size() - 1; i > 0; --i)
      std::swap(jitter.order[i], jitter.order[draws.Below(i + 1)]);
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
      if (!intervals_[i].set) continue;
      jitter.factor[i] =
          UniformFloat(draws, intervals_[i].min, intervals_[i].max);
    }
    return transform::Drawn(jitter);
  }

  absl::Status Apply(const transform::Drawn& drawn,
                     OpTarget& target) const override {
    const auto jitter = drawn.As<Jitter>();
    return target.ChangePixels([&](const transform::ScratchImage& image) {
      for (const Adjustment adjustment : jitter.order) {
        if (intervals_[adjustment].set)
          Adjust(adjustment, jitter.factor[adjustment], image.pixels());
      }
    });
  }

 private:
  static void Adjust(Adjustment adjustment, float factor,
                     transform::Pixels pixels) {
    switch (adjustment) {
      case kBrightness:
        return transform::AdjustBrightness(pixels, factor);
      case kContrast:
        return transform::AdjustContrast(pixels, factor);
      case kSaturation:
        return transform::AdjustSaturation(pixels, factor);
      default:
        return transform::AdjustHue(pixels, factor);
    }
  }

  // Range of each Adjustment.
  const std::array<Interval, kAdjustments> intervals_;
};

// Reads a factor's range. `neutral` is the factor that changes nothing. A range
// that holds only this factor counts as not set, so no number is drawn for it.
absl::StatusOr<Interval> ReadInterval(bool has, const proto::Range& range,
                                      double neutral, std::string_view name) {
  if (!has) return Interval{};
  FOREBAY_RETURN_IF_ERROR(CheckOrder(range.min(), range.max(), name));
  const bool idle = range.min() == neutral && range.max() == neutral;
  return Interval{!idle, range.min(), range.max()};
}

}  // namespace

absl::Status Add(const proto::ColorJitter& op, ProgramBuilder& program) {
  std::array<Interval, kAdjustments> intervals;
  FOREBAY_ASSIGN_OR_RETURN(
      intervals[kBrightness],
      ReadInterval(op.has_brightness(), op.brightness(), 1, "brightness"));
  FOREBAY_ASSIGN_OR_RETURN(
      intervals[kContrast],
      ReadInterval(op.has_contrast(), op.contrast(), 1, "contrast"));
  FOREBAY_ASSIGN_OR_RETURN(
      intervals[kSaturation],
      ReadInterval(op.has_saturation(), op.saturation(), 1, "saturation"));
  FOREBAY_ASSIGN_OR_RETURN(intervals[kHue],
                           ReadInterval(op.has_hue(), op.hue(), 0, "hue"));
  program.Append(std::make_unique<ColorJitter>(intervals));
  return absl::OkStatus();
}

}  // namespace forebay::pipeline::image
