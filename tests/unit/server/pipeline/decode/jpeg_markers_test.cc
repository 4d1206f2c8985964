#include "server/pipeline/decode/jpeg_markers.h"

#include <vector>

#include "tests/catch/catch.h"

namespace forebay::pipeline::decode {
namespace {

int Find(const std::vector<std::uint8_t>& data) {
  return MarkerAfter(data.data(), data.size());
}

TEST_CASE("The search for JPEG markers passes over data and restarts",
          "[decode][jpeg_markers]") {
  CHECK(Find({1, 2, 0xff, 0, 3, 0xff, 0xd0, 4, 0xff, 0xd7, 0xff, 0xd9}) ==
        0xd9);
  CHECK(Find({0xff, 0xff, 0xff, 0xd9, 0xff, 0xda}) == 0xd9);
  CHECK(Find({0xff, 0xff, 0, 0xff, 0xc4}) == 0xc4);
  CHECK(Find({0xff, 1}) == 1);
}

TEST_CASE("The search for JPEG markers finds none in cut data",
          "[decode][jpeg_markers]") {
  CHECK(Find({}) == 0);
  CHECK(Find({0xff}) == 0);
  CHECK(Find({1, 2, 3}) == 0);
  CHECK(Find({1, 0xff, 0, 0xff}) == 0);
  CHECK(Find({1, 0xff, 0xff, 0xff}) == 0);
}

}  // namespace
}  // namespace forebay::pipeline::decode
