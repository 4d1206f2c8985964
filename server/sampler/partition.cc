#include "server/sampler/partition.h"

#include "server/base/check.h"

namespace forebay::sampler {
namespace {

std::uint64_t Count(std::uint64_t size, std::uint32_t rank,
                    std::uint32_t world_size, Pad pad) {
  const std::uint64_t whole = size / world_size;
  const std::uint64_t rest = size % world_size;
  switch (pad) {
    case Pad::kWrap:
      return whole + (rest > 0);
    case Pad::kDrop:
      return whole;
    case Pad::kNone:
      return whole + (rank < rest);
  }
  FOREBAY_CHECK(false);
  return 0;
}

}  // namespace

Partition::Partition(std::uint64_t size, std::uint32_t rank,
                     std::uint32_t world_size, Pad pad)
    : size_(size),
      rank_(rank),
      world_size_(world_size),
      is_padded_(pad == Pad::kWrap) {
  FOREBAY_CHECK(size >= 1 && size <= std::uint64_t{1} << 62);
  FOREBAY_CHECK(rank < world_size);
  count_ = Count(size, rank, world_size, pad);
  most_count_ = Count(size, 0, world_size, pad);
}

std::uint64_t Partition::PlaceAt(std::uint64_t position) const {
  FOREBAY_CHECK(position < count_);
  // The sum is below size + world_size, so it cannot overflow.
  const std::uint64_t padded = rank_ + position * world_size_;
  return padded < size_ ? padded : padded % size_;
}

std::optional<std::uint64_t> Partition::PositionOf(std::uint64_t place) const {
  FOREBAY_CHECK(place < size_);
  if (count_ == 0) return std::nullopt;
  if (size_ < world_size_) {
    // The padding is kWrap, or kNone and the rank is one of the first. Each of
    // these ranks has one position.
    if (rank_ % size_ == place) return 0;
    return std::nullopt;
  }
  // The padded order is shorter than two rounds, so a place occurs once or
  // twice in it.
  for (const std::uint64_t padded : {place, place + size_}) {
    const std::uint64_t position = padded / world_size_;
    if (padded % world_size_ == rank_ && position < count_) return position;
  }
  return std::nullopt;
}

}  // namespace forebay::sampler
