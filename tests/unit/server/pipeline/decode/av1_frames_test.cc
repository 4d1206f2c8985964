#include "server/pipeline/decode/av1_frames.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint8_t kHasSize = 2;
constexpr std::uint8_t kSequence = 1 << 3 | kHasSize;
constexpr std::uint8_t kFrameHeader = 3 << 3 | kHasSize;
constexpr std::uint8_t kFrame = 6 << 3 | kHasSize;

TEST(Av1FramesTest, CountsFramesOfEachKind) {
  EXPECT_EQ(CountAv1Frames(Bytes{kSequence, 1, 0, kFrame, 2, 0, 0}), 1u);
  EXPECT_EQ(CountAv1Frames(Bytes{kFrame, 1, 0, kSequence, 0, kFrameHeader, 0}),
            2u);
  // With an extension, and a size of two bytes.
  Bytes extended = {kFrame | 4, 0, 0x80 | 3, 1};
  extended.resize(4 + 131);
  EXPECT_EQ(CountAv1Frames(extended), 1u);
}

TEST(Av1FramesTest, NeverCountsMoreThanAreKept) {
  Bytes many;
  for (int i = 0; i < 100; ++i) many.insert(many.end(), {kFrame, 0});
  EXPECT_EQ(CountAv1Frames(many), kMostAv1Frames);
}

TEST(Av1FramesTest, TakesWhatIsNoStreamForTheWorst) {
  for (const Bytes& stream : {
           Bytes{},
           Bytes{kSequence, 0},  // no frame
           Bytes{kFrame, 2, 0},  // cut off
           Bytes{kFrame, 0x80},  // in its size
           Bytes{kFrame, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
           Bytes{kFrame, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
           Bytes{kFrame | 4},
           Bytes{kFrame & ~kHasSize, 0},
           Bytes{kFrame | 0x80, 0},
           Bytes{kFrame | 1, 0},
       }) {
    EXPECT_EQ(CountAv1Frames(stream), kMostAv1Frames);
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
