#include "server/dataset/zip/image_places.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::dataset::zip {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Checks that all is found again, and returns what that takes.
std::uint64_t CheckPlaces(const std::vector<ImagePlace>& places) {
  const ImagePlaces packed(places);
  EXPECT_EQ(packed.size(), places.size());
  EXPECT_TRUE(ImagePlaces::FitTogether(packed.parts()));
  EXPECT_LE(packed.memory(), ImagePlaces::Bytes(places.size()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(packed.At(i).position, places[i].position);
    EXPECT_GE(packed.At(i).slack, places[i].slack);
    EXPECT_EQ(packed.At(i).method, places[i].method);
  }
  return packed.memory();
}

std::vector<ImagePlace> InOrder(std::size_t images, std::uint64_t each) {
  std::vector<ImagePlace> places;
  for (std::size_t i = 0; i < images; ++i) {
    places.push_back({i * each, static_cast<std::uint16_t>(i % 30),
                      i % 3 == 0 ? ZipMethod::kDeflated : ZipMethod::kStored});
  }
  return places;
}

TEST(ImagePlacesTest, ImagesThatLieTogetherTakeFourBytes) {
  EXPECT_EQ(CheckPlaces({}), 0);
  EXPECT_EQ(CheckPlaces(InOrder(1, 1)), 4 + 8);
  EXPECT_EQ(CheckPlaces(InOrder(1024, 2'000'000)), 1024 * 4 + 8);
  EXPECT_EQ(CheckPlaces(InOrder(1025, 2'000'000)), 1025 * 4 + 16);
  // Archives of 10 TB.
  EXPECT_EQ(CheckPlaces(InOrder(100'000, 2'000'000)), 100'000 * 4 + 98 * 8);
}

TEST(ImagePlacesTest, ImagesThatLieApartTakeEight) {
  std::vector<ImagePlace> places = InOrder(3000, 1000);
  places[100].position = 2 * kGiB - 1;
  EXPECT_EQ(CheckPlaces(places), 3000 * 4 + 3 * 8);
  places[100].position = 2 * kGiB;
  EXPECT_EQ(CheckPlaces(places), 3000 * 8 + 3 * 8);
  std::mt19937_64 random(1);
  for (ImagePlace& place : places)
    place.position = random() % ImagePlace::kPositions;
  places[7].position = ImagePlace::kPositions - 1;
  places[7].slack = UINT16_MAX;
  EXPECT_EQ(CheckPlaces(places), 3000 * 8 + 3 * 8);
}

TEST(ImagePlacesTest, OthersDoNotFitTogether) {
  ImagePlaces::Parts parts = ImagePlaces(InOrder(1024, 10)).parts();
  parts.near.push_back(0);
  EXPECT_FALSE(ImagePlaces::FitTogether(parts));
  parts.groups.push_back(0);
  EXPECT_TRUE(ImagePlaces::FitTogether(parts));
  parts.groups.push_back(0);
  EXPECT_FALSE(ImagePlaces::FitTogether(parts));
  parts.groups.pop_back();
  parts.near.pop_back();
  parts.far.push_back(0);
  EXPECT_FALSE(ImagePlaces::FitTogether(parts));
}

}  // namespace
}  // namespace forebay::dataset::zip
