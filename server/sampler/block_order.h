#ifndef FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_
#define FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_

#include <cstdint>
#include <optional>

#include "server/sampler/permutation.h"

namespace forebay::sampler {

// Consecutive numbers: `begin` to `end` - 1.
struct Block {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const Block&) const = default;
};

// A pseudo-random order of 0 to size - 1 in which consecutive numbers stay near
// each other. Blocks of consecutive numbers are shuffled. Then every kGroup
// neighbouring blocks form a group, whose numbers are shuffled. So only one
// group's blocks are read at a time, each as a whole.
//
// Any position can be asked for, in either direction, in O(1) time and memory.
// Equal (size, block, seed, epoch) give the equal order, on every machine.
// Immutable value, thread-safe, never blocks, has no errors.
class BlockOrder {
 public:
  // Blocks in a group.
  static constexpr std::uint64_t kGroup = 32;

  // `size` is 1 to kMaxSize, `block` at least 1.
  BlockOrder(std::uint64_t size, std::uint64_t block, std::uint64_t seed,
             std::uint64_t epoch);

  // Returns the number at `position`; both are below the size.
  std::uint64_t At(std::uint64_t position) const;

  // Returns the position of `id`: PositionOf(At(p)) == p.
  std::uint64_t PositionOf(std::uint64_t id) const;

  // Returns the block of `id`, which is below the size.
  Block BlockOf(std::uint64_t id) const;

  // Returns the block of the next group that is due when a reader comes to
  // `position` from `previous` (nullopt: from before the group), if any. A
  // group takes as many steps as it has blocks, and one block is due with each.
  // So the next group is there in time and was read at an even pace.
  std::optional<Block> DueAt(std::uint64_t position,
                             std::optional<std::uint64_t> previous) const;

 private:
  Block NumbersOf(std::uint64_t block) const;
  std::uint64_t GroupAt(std::uint64_t position) const;
  std::uint64_t BeginOf(std::uint64_t group) const;
  Permutation WithinGroup(std::uint64_t group) const;

  std::uint64_t size_;
  std::uint64_t block_;
  std::uint64_t seed_;
  std::uint64_t epoch_;
  Permutation blocks_;
  // How much shorter the last block is, and its place among the blocks.
  std::uint64_t missing_;
  std::uint64_t short_place_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_
