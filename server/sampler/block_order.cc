#include "server/sampler/block_order.h"

#include <algorithm>

#include "server/base/check.h"
#include "server/base/philox.h"

// The order is computed as follows. The permutation of blocks gives each block
// a place. Blocks in the order of their places form a line of `size` points.
// The line is divided into groups of kGroup blocks. A position of the order
// lies in a group, and the group's permutation says at which point of the line
// the position's number stands.
//
// All blocks but the last one have equal length. The last block may have any
// place in the line. Points before the last block are where they would be if
// that block were whole. Points behind the last block are nearer to the
// beginning by `missing_`.

namespace forebay::sampler {
namespace {

std::uint64_t BlocksOf(std::uint64_t size, std::uint64_t block) {
  return size / block + (size % block == 0 ? 0 : 1);
}

}  // namespace

BlockOrder::BlockOrder(std::uint64_t size, std::uint64_t block,
                       std::uint64_t seed, std::uint64_t epoch)
    : size_(size),
      // A block is not longer than the size, so products of lengths cannot
      // overflow.
      block_(std::min(block, size)),
      seed_(seed),
      epoch_(epoch),
      blocks_(BlocksOf(size, block_), seed, epoch),
      missing_(blocks_.size() * block_ - size),
      short_place_(blocks_.PositionOf(blocks_.size() - 1)) {
  FOREBAY_CHECK(block >= 1);
}

std::uint64_t BlockOrder::BeginOf(std::uint64_t group) const {
  const std::uint64_t place = std::min(group * kGroup, blocks_.size());
  return place * block_ - (place > short_place_ ? missing_ : 0);
}

Permutation BlockOrder::WithinGroup(std::uint64_t group) const {
  const std::uint64_t key =
      base::PhiloxStream(seed_, epoch_, group, base::kBlockGroupStream)
          .NextUint64();
  return Permutation(BeginOf(group + 1) - BeginOf(group), key, epoch_);
}

std::uint64_t BlockOrder::GroupAt(std::uint64_t position) const {
  FOREBAY_CHECK(position < size_);
  // The group that would contain `position` if no block were short. In fact,
  // `position` may be in the next group.
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
  // A step is as long as a block, so each step of this group makes one block of
  // the next group due.
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
  // `even` is where the point would be if no block were short.
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
