// Adjusts colors with Pillow's arithmetic. Results must equal Pillow's bytes,
// so every operation has the type and order that it has in Pillow's C code.
// Brightness and contrast blend all bytes with one value, so a table of 256
// entries is enough. Saturation and hue depend on all colors of a pixel.

#include "server/pipeline/transform/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace forebay::pipeline::transform {
namespace {

// Returns the luma as Pillow's Convert.c computes it: ITU-R BT.601's weights
// 0.299, 0.587 and 0.114 in 16-bit fixed point, rounded.
std::uint8_t Luma(const std::uint8_t* p) {
  return static_cast<std::uint8_t>(
      (p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
}

// Blends like Pillow's Image.blend. Factor 0 gives `degenerate`, factor 1 gives
// `value`, and larger factors go beyond. The result is clipped to 0 and 255.
std::uint8_t Blend(std::uint8_t degenerate, std::uint8_t value, float factor) {
  const float blended =
      static_cast<float>(degenerate) +
      factor * static_cast<float>(int{value} - int{degenerate});
  if (blended <= 0.0F) return 0;
  if (blended >= 255.0F) return 255;
  return static_cast<std::uint8_t>(blended);
}

// Blends all bytes with one value, by a table.
void BlendWith(Pixels pixels, std::uint8_t degenerate, float factor) {
  std::array<std::uint8_t, 256> table;
  for (std::size_t v = 0; v < table.size(); ++v)
    table[v] = Blend(degenerate, static_cast<std::uint8_t>(v), factor);
  for (std::uint8_t& value : pixels) value = table[value];
}

std::uint8_t Clip8(int value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

// Converts one pixel in place as Convert.c's rgb2hsv_row does. Like that code,
// it mixes float and double, because every rounding matters.
void RgbToHsv(std::uint8_t* p) {
  const std::uint8_t r = p[0], g = p[1], b = p[2];
  const std::uint8_t high = std::max({r, g, b});
  const std::uint8_t low = std::min({r, g, b});
  p[2] = high;
  if (low == high) {
    p[0] = p[1] = 0;
    return;
  }
  const auto range = static_cast<float>(high - low);
  const float s = range / static_cast<float>(high);
  const float rc = static_cast<float>(high - r) / range;
  const float gc = static_cast<float>(high - g) / range;
  const float bc = static_cast<float>(high - b) / range;
  float h;
  if (r == high) {
    h = bc - gc;
  } else if (g == high) {
    h = static_cast<float>(2.0 + rc - bc);
  } else {
    h = static_cast<float>(4.0 + gc - rc);
  }
  h = static_cast<float>(std::fmod(h / 6.0 + 1.0, 1.0));
  p[0] = Clip8(static_cast<int>(h * 255.0));
  p[1] = Clip8(static_cast<int>(s * 255.0));
}

// Converts one pixel back, as Convert.c's hsv2rgb does.
void HsvToRgb(std::uint8_t* out) {
  const std::uint8_t h = out[0], s = out[1], v = out[2];
  if (s == 0) {
    out[0] = out[1] = v;
    return;
  }
  const double sixths = static_cast<float>(h) * 6.0 / 255.0;
  const int i = static_cast<int>(std::floor(sixths));
  const auto f = static_cast<float>(sixths - static_cast<float>(i));
  const auto fs = static_cast<float>(static_cast<float>(s) / 255.0);
  const auto fv = static_cast<float>(v);
  const auto round = [](double x) {
    return Clip8(static_cast<int>(std::round(x)));
  };
  const std::uint8_t p = round(fv * (1.0 - fs));
  const std::uint8_t q = round(fv * (1.0 - fs * f));
  const std::uint8_t t = round(fv * (1.0 - fs * (1.0 - f)));
  const std::uint8_t rgb[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                                  {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(rgb[i % 6], 3, out);
}

}  // namespace

void AdjustBrightness(Pixels pixels, float factor) {
  BlendWith(pixels, 0, factor);
}

void AdjustContrast(Pixels pixels, float factor) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < pixels.size(); i += 3) sum += Luma(&pixels[i]);
  const std::uint64_t count = pixels.size() / 3;
  // ImageEnhance.Contrast blends with the rounded mean gray.
  const double mean = static_cast<double>(sum) / static_cast<double>(count);
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): Pillow's own
  BlendWith(pixels, static_cast<std::uint8_t>(mean + 0.5), factor);
}

void AdjustSaturation(Pixels pixels, float factor) {
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    const std::uint8_t gray = Luma(&pixels[i]);
    for (std::size_t c = 0; c < 3; ++c)
      pixels[i + c] = Blend(gray, pixels[i + c], factor);
  }
}

void AdjustHue(Pixels pixels, double turns) {
  // A hue is a byte, so turns wrap around modulo 256.
  const auto shift = static_cast<std::uint8_t>(static_cast<int>(turns * 255));
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    RgbToHsv(&pixels[i]);
    pixels[i] = static_cast<std::uint8_t>(pixels[i] + shift);
    HsvToRgb(&pixels[i]);
  }
}

void MakeGray(Pixels pixels) {
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    const std::uint8_t gray = Luma(&pixels[i]);
    pixels[i] = pixels[i + 1] = pixels[i + 2] = gray;
  }
}

}  // namespace forebay::pipeline::transform
