#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/image/recording_target.h"

namespace forebay::pipeline::image {
namespace {

using tests::HasCode;
using tests::IsOk;
using transform::CropWindow;
using transform::ImageExtent;
using transform::PhiloxDraws;

std::vector<std::istringstream> Lines(const std::string& name) {
  std::ifstream file("tests/golden/transform/" + name);
  std::vector<std::istringstream> lines;
  for (std::string line; std::getline(file, line);) lines.emplace_back(line);
  CAPTURE(name);
  CHECK(lines.size() > 10u);
  return lines;
}

// Draws that give the test's numbers, as make_golden.py's FedDraws does.
class FedDraws final : public transform::Draws {
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
          "[image][geometry_golden]") {
  for (auto& line : Lines("random_resized_crop.txt")) {
    ImageExtent image;
    std::array<double, 4> ranges;
    CropWindow expected;
    line >> image.width >> image.height;
    for (double& number : ranges) line >> number;
    line >> expected.left >> expected.top >> expected.width >> expected.height;
    std::vector<double> numbers;
    for (double number; line >> number;) numbers.push_back(number);
    REQUIRE(numbers.size() == 22u);
    proto::RandomResizedCrop message;
    message.set_height(8);
    message.set_width(9);
    message.set_scale_min(ranges[0]);
    message.set_scale_max(ranges[1]);
    message.set_ratio_min(ranges[2]);
    message.set_ratio_max(ranges[3]);
    FedDraws draws(numbers);
    const auto changes = ChangesBy(*OpOf(message), image, draws);
    CAPTURE(line.str());
    REQUIRE_THAT(changes, IsOk());
    REQUIRE(changes->windows.size() == 1u);
    const CropWindow window = changes->windows.front();
    CHECK(window.left == expected.left);
    CHECK(window.top == expected.top);
    CHECK(window.width == expected.width);
    CHECK(window.height == expected.height);
    CHECK(changes->extent().width == 9);
    CHECK(changes->extent().height == 8);
  }
}

TEST_CASE("A resize of the shorter edge gives the same size as torchvision's",
          "[image][geometry_golden]") {
  for (auto& line : Lines("resized_extent.txt")) {
    ImageExtent image, expected;
    std::uint32_t height, max_size;
    line >> image.width >> image.height >> height >> max_size >>
        expected.width >> expected.height;
    proto::Resize message;
    message.set_height(height);
    message.set_max_size(max_size);
    FedDraws draws({});
    const auto changes = ChangesBy(*OpOf(message), image, draws);
    CAPTURE(line.str());
    REQUIRE_THAT(changes, IsOk());
    CHECK(changes->extent().width == expected.width);
    CHECK(changes->extent().height == expected.height);
  }
}

TEST_CASE("CenterCrop takes the same window as torchvision's",
          "[image][geometry_golden]") {
  for (auto& line : Lines("center_crop.txt")) {
    ImageExtent image;
    std::uint32_t width, height;
    CropWindow expected;
    line >> image.width >> image.height >> width >> height >> expected.left >>
        expected.top;
    proto::CenterCrop message;
    message.set_height(height);
    message.set_width(width);
    FedDraws draws({});
    const auto changes = ChangesBy(*OpOf(message), image, draws);
    CAPTURE(line.str());
    REQUIRE_THAT(changes, IsOk());
    REQUIRE(changes->windows.size() == 1u);
    CHECK(changes->windows.front().left == expected.left);
    CHECK(changes->windows.front().top == expected.top);
  }
}

// Returns a RandomCrop of height x width pixels.
proto::RandomCrop Crop(std::uint32_t height, std::uint32_t width,
                       bool pad_if_needed) {
  proto::RandomCrop message;
  message.set_height(height);
  message.set_width(width);
  message.set_pad_if_needed(pad_if_needed);
  return message;
}

TEST_CASE("RandomCrop pads both sides if needed", "[image][geometry_golden]") {
  PhiloxDraws draws({}, 0);
  const auto changes = ChangesBy(*OpOf(Crop(10, 12, true)), {5, 20}, draws);
  REQUIRE_THAT(changes, IsOk());
  REQUIRE(changes->paddings.size() == 1u);
  CHECK(changes->paddings.front().left == 7);
  CHECK(changes->paddings.front().right == 7);
  CHECK(changes->paddings.front().top == 0);
  REQUIRE(changes->windows.size() == 1u);
  CHECK(changes->windows.front().left <= 7);
  CHECK(changes->windows.front().top <= 10);
}

TEST_CASE("RandomCrop refuses images smaller than the crop",
          "[image][geometry_golden]") {
  PhiloxDraws draws({}, 0);
  const auto changes = ChangesBy(*OpOf(Crop(10, 12, false)), {11, 20}, draws);
  CHECK_THAT(changes, HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE("RandomCrop reaches every place in the image",
          "[image][geometry_golden]") {
  const auto op = OpOf(Crop(5, 5, false));
  std::vector<int> seen(4);
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    PhiloxDraws draws({1, 2, sample}, 3);
    const auto changes = ChangesBy(*op, {8, 5}, draws);
    REQUIRE_THAT(changes, IsOk());
    ++seen[static_cast<std::size_t>(changes->windows.front().left)];
  }
  for (const int count : seen) CHECK(count > 20);
}

}  // namespace
}  // namespace forebay::pipeline::image
