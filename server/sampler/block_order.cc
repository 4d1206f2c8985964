#include "server/sampler/block_order.h"

#include <algorithm>

#include "server/base/check.h"
#include "server/base/philox.h"

// The permutation of blocks gives each block a place. Blocks in the order of
// their places form a line. The line is divided into groups of kGroup places. A
// position of the order lies in a group, and the group's permutation says at
// which point of the line its number stands. All blocks but one are of equal
// length. So points before that block are where they would be without it, and
// points behind it are `missing_` further in front.

namespace forebay::sampler {
namespace {

std::uint64_t BlocksOf(std::uint64_t size, std::uint64_t block) {
  return size / block + (size % block == 0 ? 0 : 1);
}

}  // namespace

BlockOrder::BlockOrder(std::uint64_t size, std::uint64_t block,
                       std::uint64_t seed, std::uint64_t epoch)
    : size_(size),
      // Keeps products of lengths from overflowing.
      block_(std::min(block, size)),
      seed_(seed),
      epoch_(epoch),
      blocks_(BlocksOf(size, block_), seed, epoch),
      missing_(blocks_.size() * block_ - size),
      short_place_(blocks_.PositionOf(blocks_.size() - 1)) {
  FOREBAY_CHECK(block >= 1);
}

// Returns the point where the group begins; for one behind the last group, the
// line's end.
std::uint64_t BlockOrder::BeginOf(std::uint64_t group) const {
  const std::uint64_t place = std::min(group * kGroup, blocks_.size());
  return place * block_ - (place > short_place_ ? missing_ : 0);
}

Permutation BlockOrder::WithinGroup(std::uint64_t group) const {
  // A stream of random numbers that no op and no substitution uses.
  constexpr std::uint16_t kGroups = 0xFFFE;
  const std::uint64_t key =
      base::PhiloxStream(seed_, epoch_, group, kGroups).NextUint64();
  return Permutation(BeginOf(group + 1) - BeginOf(group), key, epoch_);
}

std::uint64_t BlockOrder::GroupAt(std::uint64_t position) const {
  FOREBAY_CHECK(position < size_);
  // The group as if no block were short; it may be the next one.
  const std::uint64_t group = position / block_ / kGroup;
  return position >= BeginOf(group + 1) ? group + 1 : group;
}

Block BlockOrder::NumbersOf(std::uint64_t block) const {
  const std::uint64_t begin = block * block_;
  return {begin, begin + std::min(block_, size_ - begin)};
}

Block BlockOrder::BlockOf(std::uint64_t id) const {
  FOREBAY_CHECK(id < size_);
  return NumbersOf(id / block_);
}

std::optional<Block> BlockOrder::DueAt(
    std::uint64_t position, std::optional<std::uint64_t> previous) const {
  const std::uint64_t group = GroupAt(position);
  const std::uint64_t begin = BeginOf(group);
  const std::uint64_t step = (position - begin) / block_;
  if (previous.has_value() && *previous >= begin &&
      (*previous - begin) / block_ == step) {
    return std::nullopt;
  }
  const std::uint64_t place = (group + 1) * kGroup + step;
  if (place >= blocks_.size()) return std::nullopt;
  return NumbersOf(blocks_.At(place));
}

std::uint64_t BlockOrder::At(std::uint64_t position) const {
  const std::uint64_t group = GroupAt(position);
  const std::uint64_t begin = BeginOf(group);
  const std::uint64_t point = begin + WithinGroup(group).At(position - begin);
  // The point where it would be if no block were short.
  const std::uint64_t short_end = (short_place_ + 1) * block_ - missing_;
  const std::uint64_t even = point < short_end ? point : point + missing_;
  return blocks_.At(even / block_) * block_ + even % block_;
}

std::uint64_t BlockOrder::PositionOf(std::uint64_t id) const {
  FOREBAY_CHECK(id < size_);
  const std::uint64_t place = blocks_.PositionOf(id / block_);
  const std::uint64_t point =
      place * block_ + id % block_ - (place > short_place_ ? missing_ : 0);
  const std::uint64_t group = place / kGroup;
  const std::uint64_t begin = BeginOf(group);
  return begin + WithinGroup(group).PositionOf(point - begin);
}

}  // namespace forebay::sampler
