#include "server/stream/field_lengths.h"

#include <cstdint>
#include <limits>

#include "tests/catch/catch.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kSecond = kUnitsPerSecond;

TEST_CASE("The length of a field counts its elements",
          "[stream][field_lengths]") {
  CHECK(LengthOf({.length = 7}, LengthUnit::kElements) == 7u);
  CHECK(LengthOf({.length = 0}, LengthUnit::kElements) == 1u);
  CHECK(LengthOf({.length = std::uint64_t{1} << 50}, LengthUnit::kElements) ==
        kLongestLength);
}

TEST_CASE("The length of a clip in time is exact for usual rates",
          "[stream][field_lengths]") {
  for (const std::uint32_t rate :
       {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 96000}) {
    CAPTURE(rate);
    CHECK(
        LengthOf({.length = 1, .frames = 3 * std::uint64_t{rate}, .rate = rate},
                 LengthUnit::kTime) == 3 * kSecond);
    CAPTURE(rate);
    CHECK(LengthOf({.frames = 1, .rate = rate}, LengthUnit::kTime) * rate ==
          kSecond);
  }
}

TEST_CASE("The length of a clip in time is rounded up for other rates",
          "[stream][field_lengths]") {
  CHECK(LengthOf({.frames = 1, .rate = 7001}, LengthUnit::kTime) ==
        kSecond / 7001 + 1);
  CHECK(LengthOf({.frames = 0, .rate = 8000}, LengthUnit::kTime) == 1u);
  CHECK(
      LengthOf({.frames = std::numeric_limits<std::uint64_t>::max(), .rate = 1},
               LengthUnit::kTime) == kLongestLength);
}

}  // namespace
}  // namespace forebay::stream
