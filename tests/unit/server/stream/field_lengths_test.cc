#include "server/stream/field_lengths.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace forebay::stream {
namespace {

constexpr std::uint64_t kSecond = kUnitsPerSecond;

TEST(FieldLengthsTest, ElementsCount) {
  EXPECT_EQ(LengthOf({.length = 7}, LengthUnit::kElements), 7u);
  EXPECT_EQ(LengthOf({.length = 0}, LengthUnit::kElements), 1u);
  EXPECT_EQ(LengthOf({.length = std::uint64_t{1} << 50}, LengthUnit::kElements),
            kLongestLength);
}

TEST(FieldLengthsTest, TimeIsExactForUsualRates) {
  for (const std::uint32_t rate :
       {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 96000}) {
    EXPECT_EQ(
        LengthOf({.length = 1, .frames = 3 * std::uint64_t{rate}, .rate = rate},
                 LengthUnit::kTime),
        3 * kSecond)
        << rate;
    EXPECT_EQ(LengthOf({.frames = 1, .rate = rate}, LengthUnit::kTime) * rate,
              kSecond)
        << rate;
  }
}

TEST(FieldLengthsTest, OtherTimesAreRoundedUp) {
  EXPECT_EQ(LengthOf({.frames = 1, .rate = 7001}, LengthUnit::kTime),
            kSecond / 7001 + 1);
  EXPECT_EQ(LengthOf({.frames = 0, .rate = 8000}, LengthUnit::kTime), 1u);
  EXPECT_EQ(
      LengthOf({.frames = std::numeric_limits<std::uint64_t>::max(), .rate = 1},
               LengthUnit::kTime),
      kLongestLength);
}

}  // namespace
}  // namespace forebay::stream
