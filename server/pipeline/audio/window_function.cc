#include "server/pipeline/audio/window_function.h"

#include <cmath>

#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::audio {
namespace {

using transform::ExactCosPi;

// Returns the window's value at `part`, 0 to 1, of the window's length.
double ValueAt(WindowFunction window, double part) {
  switch (window) {
    case WindowFunction::kHann:
      return 0.5 - 0.5 * ExactCosPi(2 * part);
    case WindowFunction::kHamming:
      return 0.54 - 0.46 * ExactCosPi(2 * part);
    case WindowFunction::kBlackman:
      return 0.42 - 0.5 * ExactCosPi(2 * part) + 0.08 * ExactCosPi(4 * part);
    case WindowFunction::kBartlett:
      return 1 - std::fabs(2 * part - 1);
    case WindowFunction::kRectangular:
      break;
  }
  return 1;
}

}  // namespace

std::vector<float> ValuesOf(WindowFunction window, std::uint32_t length) {
  std::vector<float> values(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    // A window of length 1 is 1, as torch defines it.
    const double value =
        length == 1 ? 1 : ValueAt(window, static_cast<double>(i) / length);
    values[i] = static_cast<float>(value);
  }
  return values;
}

}  // namespace forebay::pipeline::audio
