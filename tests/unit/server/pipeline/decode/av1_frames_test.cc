#include "server/pipeline/decode/av1_frames.h"

#include <cstdint>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::pipeline::decode {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint8_t kHasSize = 2;
constexpr std::uint8_t kSequence = 1 << 3 | kHasSize;
constexpr std::uint8_t kFrameHeader = 3 << 3 | kHasSize;
constexpr std::uint8_t kFrame = 6 << 3 | kHasSize;

TEST_CASE("The AV1 frame count includes frames of each kind",
          "[decode][av1_frames]") {
  CHECK(CountAv1Frames(Bytes{kSequence, 1, 0, kFrame, 2, 0, 0}) == 1u);
  CHECK(CountAv1Frames(Bytes{kFrame, 1, 0, kSequence, 0, kFrameHeader, 0}) ==
        2u);
  // The frame has an extension byte, and its size takes two bytes.
  Bytes extended = {kFrame | 4, 0, 0x80 | 3, 1};
  extended.resize(4 + 131);
  CHECK(CountAv1Frames(extended) == 1u);
}

TEST_CASE("The AV1 frame count is never more than a decoder keeps",
          "[decode][av1_frames]") {
  Bytes many;
  for (int i = 0; i < 100; ++i) many.insert(many.end(), {kFrame, 0});
  CHECK(CountAv1Frames(many) == kMostAv1Frames);
}

TEST_CASE("The AV1 frame count takes what is not a stream for the worst case",
          "[decode][av1_frames]") {
  for (const Bytes& stream : {
           Bytes{},
           Bytes{kSequence, 0},  // has no frame
           Bytes{kFrame, 2, 0},  // cut off
           Bytes{kFrame, 0x80},  // cut off in its size
           Bytes{kFrame, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
           Bytes{kFrame, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
           Bytes{kFrame | 4},
           Bytes{kFrame & ~kHasSize, 0},
           Bytes{kFrame | 0x80, 0},
           Bytes{kFrame | 1, 0},
       }) {
    CHECK(CountAv1Frames(stream) == kMostAv1Frames);
  }
}

}  // namespace
}  // namespace forebay::pipeline::decode
