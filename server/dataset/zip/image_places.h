#ifndef FOREBAY_SERVER_DATASET_ZIP_IMAGE_PLACES_H_
#define FOREBAY_SERVER_DATASET_ZIP_IMAGE_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/zip/zip_member.h"

namespace forebay::dataset::zip {

// The place of an image in the archives of an index.
struct ImagePlace {
  // The limit of positions: 2^47 bytes, or 128 TiB of archives.
  static constexpr std::uint64_t kPositions = std::uint64_t{1} << 47;

  // The position of the image's header, in bytes: its offset in its archive,
  // plus the sizes of all archives before that one.
  std::uint64_t position = 0;
  // An upper bound of the bytes of extra fields between the header and the
  // data. The directory does not tell the number of these bytes.
  std::uint16_t slack = 0;
  ZipMethod method = ZipMethod::kStored;
};

// The places of all images of an index, compressed. For each group of kTogether
// consecutive images, the least position and the longest slack are stored, in 8
// bytes. Each image takes 4 bytes, for its offset from the group's position.
// But if the images of any group lie 2 GiB or more apart, every image takes 8
// bytes. This happens when several archives have files of the same directory.
//
// Immutable and thread-safe. Owns its vectors. Never blocks. Has no errors.
class ImagePlaces {
 public:
  static constexpr std::uint64_t kTogether = 1024;  // images in a group

  // A group's least position in the upper 47 bits, and its slack in the lower
  // 16.
  using Group = std::uint64_t;

  // The arrays, as an index file stores them. Either `near` or `far` is empty.
  struct Parts {
    std::vector<Group> groups;
    // Each image has an item in `near` or in `far`. The item's lowest bit is
    // the image's method. The other bits of an item in `near` are the image's
    // offset from its group's position. The other bits of an item in `far` are
    // the image's position.
    std::vector<std::uint32_t> near;
    std::vector<std::uint64_t> far;
  };

  ImagePlaces() = default;
  // Compresses the places of images, in their order.
  explicit ImagePlaces(absl::Span<const ImagePlace> places);
  // Takes stored parts, for which FitTogether must be true.
  explicit ImagePlaces(Parts parts) : parts_(std::move(parts)) {}

  // Whether the arrays have matching lengths.
  static bool FitTogether(const Parts& parts);

  // Returns the number of images.
  std::uint64_t size() const { return parts_.near.size() + parts_.far.size(); }
  // Returns the place of an image. `id` is less than size(). If the parts come
  // from a damaged file, the returned position may lie behind all archives.
  ImagePlace At(std::uint64_t id) const;
  // Returns the arrays, for the index file.
  const Parts& parts() const { return parts_; }

  // Returns the heap that the arrays take, in bytes.
  std::uint64_t memory() const;
  // Returns an upper bound of memory() for `images` images.
  static std::uint64_t Bytes(std::uint64_t images) {
    return images * sizeof(std::uint64_t) +
           (images / kTogether + 1) * sizeof(Group);
  }

 private:
  Parts parts_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_IMAGE_PLACES_H_
