#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "server/pipeline/transform/exact_math.h"
#include "server/pipeline/transform/geometry.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline::transform {
namespace {

using Catch::WithinAbs;
using tests::HasCode;
using tests::IsOk;

std::vector<std::istringstream> Lines(const std::string& name) {
  std::ifstream file("tests/golden/transform/" + name);
  std::vector<std::istringstream> lines;
  for (std::string line; std::getline(file, line);) lines.emplace_back(line);
  CAPTURE(name);
  CHECK(lines.size() > 10u);
  return lines;
}

// Draws that give the test's numbers, as make_golden.py's FedDraws does.
class FedDraws final : public Draws {
 public:
  explicit FedDraws(std::vector<double> numbers)
      : numbers_(std::move(numbers)) {}
  float Unit() override { return static_cast<float>(numbers_.at(next_++)); }
  std::uint64_t Below(std::uint64_t n) override {
    return static_cast<std::uint64_t>(numbers_.at(next_++) *
                                      static_cast<double>(n));
  }

 private:
  std::vector<double> numbers_;
  std::size_t next_ = 0;
};

TEST_CASE("RandomResizedCrop takes the same window as torchvision's",
          "[transform][geometry_golden]") {
  for (auto& line : Lines("random_resized_crop.txt")) {
    ImageExtent image;
    RandomResizedCrop op;
    CropWindow expected;
    line >> image.width >> image.height >> op.scale[0] >> op.scale[1] >>
        op.ratio[0] >> op.ratio[1] >> expected.left >> expected.top >>
        expected.width >> expected.height;
    for (int i = 0; i < 2; ++i) {
      op.log_ratio[i] =
          static_cast<float>(ExactLog(static_cast<float>(op.ratio[i])));
    }
    std::vector<double> numbers;
    for (double number; line >> number;) numbers.push_back(number);
    REQUIRE(numbers.size() == 22u);
    FedDraws draws(numbers);
    const CropWindow window = DrawWindow(op, image, draws);
    CAPTURE(line.str());
    CHECK(window.left == expected.left);
    CHECK(window.top == expected.top);
    CHECK(window.width == expected.width);
    CHECK(window.height == expected.height);
  }
}

TEST_CASE("A resize of the shorter edge gives the same size as torchvision's",
          "[transform][geometry_golden]") {
  for (auto& line : Lines("resized_extent.txt")) {
    ImageExtent image, expected;
    Resize op;
    line >> image.width >> image.height >> op.height >> op.max_size >>
        expected.width >> expected.height;
    const ImageExtent extent = ResizedExtent(op, image);
    CAPTURE(line.str());
    CHECK(extent.width == expected.width);
    CHECK(extent.height == expected.height);
  }
}

TEST_CASE("CenterCrop takes the same window as torchvision's",
          "[transform][geometry_golden]") {
  for (auto& line : Lines("center_crop.txt")) {
    ImageExtent image;
    CenterCrop op;
    CropWindow expected;
    line >> image.width >> image.height >> op.width >> op.height >>
        expected.left >> expected.top;
    const CropWindow window = CenterWindow(op, image);
    CAPTURE(line.str());
    CHECK(window.left == expected.left);
    CHECK(window.top == expected.top);
  }
}

TEST_CASE("RandomCrop pads both sides if needed",
          "[transform][geometry_golden]") {
  const RandomCrop op{10, 12, {}, true};
  PhiloxDraws draws(0, 0, 0, 0);
  const auto drawn = DrawWindow(op, {5, 20}, draws);
  REQUIRE_THAT(drawn, IsOk());
  CHECK(drawn->padding.left == 7);
  CHECK(drawn->padding.right == 7);
  CHECK(drawn->padding.top == 0);
  CHECK(drawn->window.left <= 7);
  CHECK(drawn->window.top <= 10);
}

TEST_CASE("RandomCrop refuses images smaller than the crop",
          "[transform][geometry_golden]") {
  PhiloxDraws draws(0, 0, 0, 0);
  const auto drawn = DrawWindow(RandomCrop{10, 12, {}, false}, {11, 20}, draws);
  CHECK_THAT(drawn, HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE("RandomCrop reaches every place in the image",
          "[transform][geometry_golden]") {
  std::vector<int> seen(4);
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    PhiloxDraws draws(1, 2, sample, 3);
    const auto drawn = DrawWindow(RandomCrop{5, 5, {}, false}, {8, 5}, draws);
    REQUIRE_THAT(drawn, IsOk());
    ++seen[static_cast<std::size_t>(drawn->window.left)];
  }
  for (const int count : seen) CHECK(count > 20);
}

TEST_CASE("Exact exponentials and logarithms agree with the C library",
          "[transform][geometry_golden]") {
  for (double x = -20; x <= 20; x += 0.137) {
    CAPTURE(x);
    CHECK_THAT(ExactExp(x) / std::exp(x), WithinAbs(1, 1e-14));
    CHECK_THAT(ExactLog(std::exp(x)), WithinAbs(x, 1e-13));
  }
}

}  // namespace
}  // namespace forebay::pipeline::transform
