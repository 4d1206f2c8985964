#ifndef FOREBAY_SERVER_SAMPLER_PARTITION_H_
#define FOREBAY_SERVER_SAMPLER_PARTITION_H_

#include <cstdint>
#include <optional>

namespace forebay::sampler {

enum class Pad {
  kWrap,  // repeat from the start: torch's DistributedSampler
  kDrop,  // leave out the tail: DistributedSampler(drop_last=True)
  kNone,  // each place exactly once; ranks differ by at most one
};

// The places of an epoch's order that one rank visits: rank, rank + world_size,
// rank + 2 * world_size, ... Immutable value, thread-safe, never blocks, has no
// errors.
class Partition {
 public:
  // `size` (places of the order) is 1 to 2^62, `rank` below `world_size`.
  Partition(std::uint64_t size, std::uint32_t rank, std::uint32_t world_size,
            Pad pad);

  std::uint64_t size() const { return size_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t world_size() const { return world_size_; }

  // The number of this rank's positions; may be 0 with kDrop and kNone.
  std::uint64_t count() const { return count_; }
  // Whether places are repeated, so that all ranks have equally many.
  bool is_padded() const { return is_padded_; }
  // The count of the rank that has the most.
  std::uint64_t most_count() const { return most_count_; }

  // Returns the place, below size, that this rank visits at `position`, below
  // count().
  std::uint64_t PlaceAt(std::uint64_t position) const;

  // Returns the first position at which this rank visits `place`, below size;
  // nullopt if it never does.
  std::optional<std::uint64_t> PositionOf(std::uint64_t place) const;

 private:
  std::uint64_t size_;
  std::uint32_t rank_;
  std::uint32_t world_size_;
  std::uint64_t count_;
  std::uint64_t most_count_;
  bool is_padded_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_PARTITION_H_
