#include "server/dataset/zip/image_places.h"

#include <random>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::dataset::zip {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Checks that all places can be read back, and returns the bytes that they
// take.
std::uint64_t CheckPlaces(const std::vector<ImagePlace>& places) {
  const ImagePlaces compressed(places);
  CHECK(compressed.size() == places.size());
  CHECK(ImagePlaces::FitTogether(compressed.parts()));
  CHECK(compressed.memory() <= ImagePlaces::Bytes(places.size()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    CHECK(compressed.At(i).position == places[i].position);
    CHECK(compressed.At(i).slack >= places[i].slack);
    CHECK(compressed.At(i).method == places[i].method);
  }
  return compressed.memory();
}

std::vector<ImagePlace> InOrder(std::size_t images, std::uint64_t each) {
  std::vector<ImagePlace> places;
  for (std::size_t i = 0; i < images; ++i) {
    places.push_back({i * each, static_cast<std::uint16_t>(i % 30),
                      i % 3 == 0 ? ZipMethod::kDeflated : ZipMethod::kStored});
  }
  return places;
}

TEST_CASE(
    "The places of images that lie together in a zip archive take four bytes "
    "each",
    "[zip][image_places]") {
  CHECK(CheckPlaces({}) == 0);
  CHECK(CheckPlaces(InOrder(1, 1)) == 4 + 8);
  CHECK(CheckPlaces(InOrder(1024, 2'000'000)) == 1024 * 4 + 8);
  CHECK(CheckPlaces(InOrder(1025, 2'000'000)) == 1025 * 4 + 16);
  // An image of an archive of 200 GB takes no more bytes.
  CHECK(CheckPlaces(InOrder(100'000, 2'000'000)) == 100'000 * 4 + 98 * 8);
}

TEST_CASE(
    "The places of images that lie apart in a zip archive take eight bytes "
    "each",
    "[zip][image_places]") {
  std::vector<ImagePlace> places = InOrder(3000, 1000);
  places[100].position = 2 * kGiB - 1;
  CHECK(CheckPlaces(places) == 3000 * 4 + 3 * 8);
  places[100].position = 2 * kGiB;
  CHECK(CheckPlaces(places) == 3000 * 8 + 3 * 8);
  std::mt19937_64 random(1);
  for (ImagePlace& place : places)
    place.position = random() % ImagePlace::kPositions;
  places[7].position = ImagePlace::kPositions - 1;
  places[7].slack = UINT16_MAX;
  CHECK(CheckPlaces(places) == 3000 * 8 + 3 * 8);
}

TEST_CASE("Image places know parts that do not fit together",
          "[zip][image_places]") {
  ImagePlaces::Parts parts = ImagePlaces(InOrder(1024, 10)).parts();
  parts.near.push_back(0);
  CHECK_FALSE(ImagePlaces::FitTogether(parts));
  parts.groups.push_back(0);
  CHECK(ImagePlaces::FitTogether(parts));
  parts.groups.push_back(0);
  CHECK_FALSE(ImagePlaces::FitTogether(parts));
  parts.groups.pop_back();
  parts.near.pop_back();
  parts.far.push_back(0);
  CHECK_FALSE(ImagePlaces::FitTogether(parts));
}

}  // namespace
}  // namespace forebay::dataset::zip
