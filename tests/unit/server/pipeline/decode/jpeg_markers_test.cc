#include "server/pipeline/decode/jpeg_markers.h"

#include <vector>

#include "gtest/gtest.h"

namespace forebay::pipeline::decode {
namespace {

int Find(const std::vector<std::uint8_t>& data) {
  return MarkerAfter(data.data(), data.size());
}

TEST(JpegMarkers, PassesOverDataAndRestarts) {
  EXPECT_EQ(Find({1, 2, 0xff, 0, 3, 0xff, 0xd0, 4, 0xff, 0xd7, 0xff, 0xd9}),
            0xd9);
  EXPECT_EQ(Find({0xff, 0xff, 0xff, 0xd9, 0xff, 0xda}), 0xd9);
  EXPECT_EQ(Find({0xff, 0xff, 0, 0xff, 0xc4}), 0xc4);
  EXPECT_EQ(Find({0xff, 1}), 1);
}

TEST(JpegMarkers, FindsNoneInCutData) {
  EXPECT_EQ(Find({}), 0);
  EXPECT_EQ(Find({0xff}), 0);
  EXPECT_EQ(Find({1, 2, 3}), 0);
  EXPECT_EQ(Find({1, 0xff, 0, 0xff}), 0);
  EXPECT_EQ(Find({1, 0xff, 0xff, 0xff}), 0);
}

}  // namespace
}  // namespace forebay::pipeline::decode
