#include "server/dataset/tfrecord/framing.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/tfrecord/example_builder.h"

namespace forebay::dataset::tfrecord {
namespace {

using tests::HasCode;

TEST_CASE("The TFRecord framing finds the payload", "[tfrecord][framing]") {
  for (const std::string& payload :
       {std::string(), std::string("a"), std::string(1000, '\0')}) {
    const std::string frame = Frame(payload);
    CHECK(*LengthOf(AsBytes(frame)) == payload.size());
    CHECK(*PayloadOf(AsBytes(frame)) == AsBytes(payload));
  }
}

// TensorFlow wrote this record, so every byte of the frame is known.
TEST_CASE("The TFRecord framing's checksums are TensorFlow's",
          "[tfrecord][framing]") {
  CHECK(Frame("hello") == std::string("\x05\0\0\0\0\0\0\0\xea\xb2\x04\x3e"
                                      "hello\xbb\x1f\x1c\x19",
                                      21));
}

TEST_CASE("The TFRecord framing notices each flipped bit",
          "[tfrecord][framing]") {
  const std::string frame = Frame("some text");
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string damaged = frame;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    CAPTURE(bit);
    CHECK_THAT(PayloadOf(AsBytes(damaged)),
               HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("A TFRecord frame of another length is damaged",
          "[tfrecord][framing]") {
  const std::string frame = Frame("some text");
  CHECK_THAT(PayloadOf(AsBytes(frame + "x")),
             HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(PayloadOf(AsBytes(frame.substr(0, frame.size() - 1))),
             HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::dataset::tfrecord
