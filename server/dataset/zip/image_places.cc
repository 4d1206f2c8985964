#include "server/dataset/zip/image_places.h"

#include <algorithm>

// Images of one class folder mostly lie close together in their archive,
// because archives are written folder by folder. The offset from the least
// position of 1,024 images then fits 31 bits, and an image takes 4 bytes
// instead of 8.

namespace forebay::dataset::zip {
namespace {

// The number of lower bits of a Group that hold its slack.
constexpr int kSlackBits = 16;
// Offsets in `near` are less than this. They have 31 bits, since the method
// takes one of 32 bits.
constexpr std::uint64_t kNearBytes = std::uint64_t{1} << 31;

// Returns the least position of a group.
std::uint64_t BaseOf(ImagePlaces::Group group) { return group >> kSlackBits; }

// Returns the lowest bit of an image's item: whether the image is deflated.
std::uint64_t BitOf(ZipMethod method) {
  return method == ZipMethod::kDeflated ? 1 : 0;
}

}  // namespace

ImagePlaces::ImagePlaces(absl::Span<const ImagePlace> places) {
  bool are_near = true;
  parts_.groups.reserve((places.size() + kTogether - 1) / kTogether);
  for (std::size_t begin = 0; begin < places.size(); begin += kTogether) {
    const auto group = places.subspan(begin, kTogether);
    std::uint64_t first = group.front().position;
    std::uint64_t last = first;
    std::uint16_t slack = 0;
    for (const ImagePlace& place : group) {
      first = std::min(first, place.position);
      last = std::max(last, place.position);
      slack = std::max(slack, place.slack);
    }
    are_near &= last - first < kNearBytes;
    parts_.groups.push_back(first << kSlackBits | slack);
  }
  if (are_near)
    parts_.near.reserve(places.size());
  else
    parts_.far.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint64_t position = places[i].position;
    const std::uint64_t method = BitOf(places[i].method);
    if (are_near) {
      const std::uint64_t behind =
          position - BaseOf(parts_.groups[i / kTogether]);
      parts_.near.push_back(static_cast<std::uint32_t>(behind << 1 | method));
    } else {
      parts_.far.push_back(position << 1 | method);
    }
  }
}

bool ImagePlaces::FitTogether(const Parts& parts) {
  const std::size_t images = parts.near.size() + parts.far.size();
  return (parts.near.empty() || parts.far.empty()) &&
         parts.groups.size() == (images + kTogether - 1) / kTogether;
}

ImagePlace ImagePlaces::At(std::uint64_t id) const {
  const Group group = parts_.groups[id / kTogether];
  const bool is_near = parts_.far.empty();
  const std::uint64_t bits = is_near ? parts_.near[id] : parts_.far[id];
  return {
      .position = (bits >> 1) + (is_near ? BaseOf(group) : 0),
      .slack = static_cast<std::uint16_t>(group),
      .method = (bits & 1) != 0 ? ZipMethod::kDeflated : ZipMethod::kStored};
}

std::uint64_t ImagePlaces::memory() const {
  return parts_.groups.capacity() * sizeof(Group) +
         parts_.near.capacity() * sizeof(parts_.near[0]) +
         parts_.far.capacity() * sizeof(parts_.far[0]);
}

}  // namespace forebay::dataset::zip
