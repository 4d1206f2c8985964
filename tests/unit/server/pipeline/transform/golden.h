#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_TRANSFORM_GOLDEN_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_TRANSFORM_GOLDEN_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "server/pipeline/transform/render.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline::transform {

// Returns a whole file of tests/golden/transform.
std::vector<std::uint8_t> ReadGolden(std::string_view name);

// Takes fields off the front of a golden file, one after another.
class GoldenReader {
 public:
  explicit GoldenReader(std::string_view name) : bytes_(ReadGolden(name)) {}

  bool done() const { return at_ == bytes_.size(); }

  template <typename T>
  T Next() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }

  std::vector<std::uint8_t> Bytes(std::size_t count) {
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ += count;
    return {from, from + static_cast<std::ptrdiff_t>(count)};
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// Returns the picture that make_golden.py's `scene` makes.
ScratchImage Scene(std::int64_t width, std::int64_t height, Scratch& scratch);

std::vector<std::uint8_t> BytesOf(const ScratchImage& image);

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_TRANSFORM_GOLDEN_H_
