#ifndef FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_
#define FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_

#include <cstdint>
#include <optional>

#include "server/sampler/permutation.h"

namespace forebay::sampler {

// A range of consecutive numbers: `begin` to `end` - 1.
struct Block {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const Block&) const = default;
};

// A pseudo-random order of 0 to size - 1 in which consecutive numbers stay near
// each other. Blocks of consecutive numbers are shuffled. Then every kGroup
// neighbouring blocks form a group, and the numbers of a group are shuffled. A
// reader thus needs the blocks of only one group at a time, and can read each
// block as a whole.
//
// Any position can be asked for, in either direction, in O(1) time and memory.
// Equal (size, block, seed, epoch) give the same order, on every machine.
//
// Immutable value, thread-safe. Owns all its state. Never blocks. No errors.
class BlockOrder {
 public:
  // The number of blocks in a group.
  static constexpr std::uint64_t kGroup = 32;

  // `size` is 1 to kMaxSize. `block` is how many numbers a block has, at least
  // 1.
  BlockOrder(std::uint64_t size, std::uint64_t block, std::uint64_t seed,
             std::uint64_t epoch);

  // Returns the number at `position`; both are below `size`.
  std::uint64_t At(std::uint64_t position) const;

  // Returns the position of `id`: PositionOf(At(p)) == p.
  std::uint64_t PositionOf(std::uint64_t id) const;

  // Returns the block that contains `id`, which is below `size`.
  Block BlockOf(std::uint64_t id) const;

  // Returns the block of the next group that should be read when a reader comes
  // to `position`; nullopt if none is due. `previous` is the position from
  // which the reader comes; nullopt if `position` is its first. A group takes
  // as many steps as it has blocks, and one block of the next group is due at
  // each step. The next group is thus read in time and at an even pace.
  std::optional<Block> DueAt(std::uint64_t position,
                             std::optional<std::uint64_t> previous) const;

 private:
  // Returns the numbers of the block with number `block`.
  Block NumbersOf(std::uint64_t block) const;
  // Returns the group that `position` lies in.
  std::uint64_t GroupAt(std::uint64_t position) const;
  // Returns the first position of a group; `size_` if `group` is past the last
  // group.
  std::uint64_t BeginOf(std::uint64_t group) const;
  // Returns the permutation of the group's positions.
  Permutation WithinGroup(std::uint64_t group) const;

  std::uint64_t size_;
  std::uint64_t block_;
  std::uint64_t seed_;
  std::uint64_t epoch_;
  Permutation blocks_;
  // How many numbers the last block lacks to be as long as the others.
  std::uint64_t missing_;
  // The place of the last block in the permutation of blocks.
  std::uint64_t short_place_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_
