#include "server/dataset/tfrecord/framing.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::tfrecord {
namespace {

TEST(FramingTest, FindsThePayload) {
  for (const std::string& payload :
       {std::string(), std::string("a"), std::string(1000, '\0')}) {
    const std::string frame = Frame(payload);
    EXPECT_EQ(*LengthOf(AsBytes(frame)), payload.size());
    EXPECT_EQ(*PayloadOf(AsBytes(frame)), AsBytes(payload));
  }
}

// A record of TensorFlow's, of which all is known.
TEST(FramingTest, ChecksumsAreTensorFlows) {
  EXPECT_EQ(Frame("hello"), std::string("\x05\0\0\0\0\0\0\0\xea\xb2\x04\x3e"
                                        "hello\xbb\x1f\x1c\x19",
                                        21));
}

TEST(FramingTest, EachBitCounts) {
  const std::string frame = Frame("some text");
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string damaged = frame;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(PayloadOf(AsBytes(damaged)).status())) << bit;
  }
}

TEST(FramingTest, AFrameOfAnotherLengthIsDamaged) {
  const std::string frame = Frame("some text");
  EXPECT_TRUE(absl::IsDataLoss(PayloadOf(AsBytes(frame + "x")).status()));
  EXPECT_TRUE(absl::IsDataLoss(
      PayloadOf(AsBytes(frame.substr(0, frame.size() - 1))).status()));
}

}  // namespace
}  // namespace forebay::dataset::tfrecord
