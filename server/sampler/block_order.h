#ifndef FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_
#define FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_

#include <cstdint>
#include <optional>

#include "server/sampler/permutation.h"

namespace forebay::sampler {

// Numbers that follow each other: `begin` to `end` - 1.
struct Block {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const Block&) const = default;
};

// A pseudo-random order of 0 to size - 1 in which numbers that follow each
// other stay near each other: blocks of consecutive numbers are put in random
// order, and of every few blocks that are neighbours then, a group, all numbers
// are. So at any time just a group's blocks are being read, each as a whole.
//
// Any position can be asked, in either direction, in O(1) time and memory.
// Equal (size, block, seed, epoch) give the equal order, on every machine.
// Immutable value, thread-safe, never blocks, has no errors.
class BlockOrder {
 public:
  // Blocks in a group.
  static constexpr std::uint64_t kGroup = 32;

  // `size` is 1 to kMaxSize, `block` at least 1.
  BlockOrder(std::uint64_t size, std::uint64_t block, std::uint64_t seed,
             std::uint64_t epoch);

  // What stands at `position`; both are below the size.
  std::uint64_t At(std::uint64_t position) const;

  // Where `id` stands: PositionOf(At(p)) == p.
  std::uint64_t PositionOf(std::uint64_t id) const;

  // The block that `id`, below the size, is in.
  Block BlockOf(std::uint64_t id) const;

  // Which block of the next group is due when a reader comes to `position` from
  // `previous` (nullopt: from before the group), if any: as many steps as a
  // group has blocks lead through it, and with each one block is due, so that
  // the next group is there in time and was read at an even pace.
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
  // What the last block lacks of a whole one, and its place among the blocks.
  std::uint64_t missing_;
  std::uint64_t short_place_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_BLOCK_ORDER_H_
