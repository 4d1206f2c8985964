#ifndef FOREBAY_SERVER_DATASET_ZIP_IMAGE_PLACES_H_
#define FOREBAY_SERVER_DATASET_ZIP_IMAGE_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/zip/zip_member.h"

namespace forebay::dataset::zip {

// Where an image lies in the archives of an index.
struct ImagePlace {
  // One past the largest position.
  static constexpr std::uint64_t kPositions = std::uint64_t{1} << 47;

  std::uint64_t position = 0;  // its header's
  // Bytes of extra fields between the header and the data, at most.
  std::uint16_t slack = 0;
  ZipMethod method = ZipMethod::kStored;
};

// The places of all images of an index. Those of a group, kTogether images that
// follow one another, share the longest slack and the first position. So an
// image takes 4 bytes, and 8 more for its group. If the images of any group lie
// 2 GiB apart, as where archives share directories, each takes 8.
//
// Immutable and thread-safe; owns its vectors; never blocks; has no errors.
class ImagePlaces {
 public:
  static constexpr std::uint64_t kTogether = 1024;

  // The least position of a group and its slack, in 47 and 16 bits.
  using Group = std::uint64_t;

  // The parts, as they are kept. One of the latter two is empty.
  struct Parts {
    std::vector<Group> groups;
    // By image: its method in the lowest bit, and above it its position behind
    // that of its group, or its position.
    std::vector<std::uint32_t> near;
    std::vector<std::uint64_t> far;
  };

  ImagePlaces() = default;
  explicit ImagePlaces(absl::Span<const ImagePlace> places);
  // Those of parts that FitTogether.
  explicit ImagePlaces(Parts parts) : parts_(std::move(parts)) {}

  static bool FitTogether(const Parts& parts);

  std::uint64_t size() const { return parts_.near.size() + parts_.far.size(); }
  // `id` is less than size(). The position may be too large, if the parts come
  // from a damaged file.
  ImagePlace At(std::uint64_t id) const;
  const Parts& parts() const { return parts_; }

  std::uint64_t memory() const;  // bytes
  // Of so many images, at most.
  static std::uint64_t Bytes(std::uint64_t images) {
    return images * sizeof(std::uint64_t) +
           (images / kTogether + 1) * sizeof(Group);
  }

 private:
  Parts parts_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_IMAGE_PLACES_H_
