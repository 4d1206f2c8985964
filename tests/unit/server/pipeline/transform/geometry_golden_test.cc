#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "server/pipeline/transform/exact_math.h"
#include "server/pipeline/transform/geometry.h"

namespace forebay::pipeline::transform {
namespace {

std::vector<std::istringstream> Lines(const std::string& name) {
  std::ifstream file("tests/golden/transform/" + name);
  std::vector<std::istringstream> lines;
  for (std::string line; std::getline(file, line);) lines.emplace_back(line);
  EXPECT_GT(lines.size(), 10u) << name;
  return lines;
}

// make_golden.py's FedDraws.
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

TEST(GeometryGoldenTest, RandomResizedCropEqualsTorchvision) {
  for (auto& line : Lines("random_resized_crop.txt")) {
    Extent image;
    RandomResizedCrop op;
    Window expected;
    line >> image.width >> image.height >> op.scale[0] >> op.scale[1] >>
        op.ratio[0] >> op.ratio[1] >> expected.left >> expected.top >>
        expected.width >> expected.height;
    for (int i = 0; i < 2; ++i) {
      op.log_ratio[i] =
          static_cast<float>(ExactLog(static_cast<float>(op.ratio[i])));
    }
    std::vector<double> numbers;
    for (double number; line >> number;) numbers.push_back(number);
    ASSERT_EQ(numbers.size(), 22u);
    FedDraws draws(numbers);
    const Window window = DrawWindow(op, image, draws);
    EXPECT_EQ(window.left, expected.left) << line.str();
    EXPECT_EQ(window.top, expected.top) << line.str();
    EXPECT_EQ(window.width, expected.width) << line.str();
    EXPECT_EQ(window.height, expected.height) << line.str();
  }
}

TEST(GeometryGoldenTest, ShorterEdgeEqualsTorchvision) {
  for (auto& line : Lines("resized_extent.txt")) {
    Extent image, expected;
    Resize op;
    line >> image.width >> image.height >> op.height >> op.max_size >>
        expected.width >> expected.height;
    const Extent extent = ResizedExtent(op, image);
    EXPECT_EQ(extent.width, expected.width) << line.str();
    EXPECT_EQ(extent.height, expected.height) << line.str();
  }
}

TEST(GeometryGoldenTest, CenterCropEqualsTorchvision) {
  for (auto& line : Lines("center_crop.txt")) {
    Extent image;
    CenterCrop op;
    Window expected;
    line >> image.width >> image.height >> op.width >> op.height >>
        expected.left >> expected.top;
    const Window window = CenterWindow(op, image);
    EXPECT_EQ(window.left, expected.left) << line.str();
    EXPECT_EQ(window.top, expected.top) << line.str();
  }
}

TEST(GeometryTest, RandomCropPadsBothSidesIfNeeded) {
  const RandomCrop op{10, 12, {}, true};
  PhiloxDraws draws(0, 0, 0, 0);
  const auto drawn = DrawWindow(op, {5, 20}, draws);
  ASSERT_TRUE(drawn.ok());
  EXPECT_EQ(drawn->padding.left, 7);
  EXPECT_EQ(drawn->padding.right, 7);
  EXPECT_EQ(drawn->padding.top, 0);
  EXPECT_LE(drawn->window.left, 7);
  EXPECT_LE(drawn->window.top, 10);
}

TEST(GeometryTest, RandomCropRefusesSmallImages) {
  PhiloxDraws draws(0, 0, 0, 0);
  const auto drawn = DrawWindow(RandomCrop{10, 12, {}, false}, {11, 20}, draws);
  EXPECT_EQ(drawn.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GeometryTest, RandomCropReachesEveryPlace) {
  std::vector<int> seen(4);
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    PhiloxDraws draws(1, 2, sample, 3);
    const auto drawn = DrawWindow(RandomCrop{5, 5, {}, false}, {8, 5}, draws);
    ASSERT_TRUE(drawn.ok());
    ++seen[static_cast<std::size_t>(drawn->window.left)];
  }
  for (const int count : seen) EXPECT_GT(count, 20);
}

TEST(ExactMathTest, AgreesWithTheCLibrary) {
  for (double x = -20; x <= 20; x += 0.137) {
    EXPECT_NEAR(ExactExp(x) / std::exp(x), 1, 1e-14) << x;
    EXPECT_NEAR(ExactLog(std::exp(x)), x, 1e-13) << x;
  }
}

}  // namespace
}  // namespace forebay::pipeline::transform
