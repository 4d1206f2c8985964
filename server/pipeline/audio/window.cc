#include "server/pipeline/audio/window.h"

#include <cmath>

#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::audio {
namespace {

using transform::ExactCosPi;

// The value at a part of the window's length, 0 to 1.
double ValueAt(Window window, double part) {
  switch (window) {
    case Window::kHann:
      return 0.5 - 0.5 * ExactCosPi(2 * part);
    case Window::kHamming:
      return 0.54 - 0.46 * ExactCosPi(2 * part);
    case Window::kBlackman:
      return 0.42 - 0.5 * ExactCosPi(2 * part) + 0.08 * ExactCosPi(4 * part);
    case Window::kBartlett:
      return 1 - std::fabs(2 * part - 1);
    case Window::kRectangular:
      break;
  }
  return 1;
}

}  // namespace

std::vector<float> ValuesOf(Window window, std::uint32_t length) {
  std::vector<float> values(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    // torch's windows of length 1 have no begin.
    const double value =
        length == 1 ? 1 : ValueAt(window, static_cast<double>(i) / length);
    values[i] = static_cast<float>(value);
  }
  return values;
}

}  // namespace forebay::pipeline::audio
