#ifndef FOREBAY_SERVER_SAMPLER_PARTITION_H_
#define FOREBAY_SERVER_SAMPLER_PARTITION_H_

#include <cstdint>
#include <optional>

namespace forebay::sampler {

enum class Pad {
  // Places repeat from the start, as in torch's DistributedSampler.
  kWrap,
  // The tail is left out, as in DistributedSampler(drop_last=True).
  kDrop,
  // Each place is visited exactly once; ranks' counts differ by at most 1.
  kNone,
};

// The places of an epoch's order that one rank visits: rank, rank + world_size,
// rank + 2 * world_size, and so on.
//
// Immutable value, thread-safe. Owns all its state. Never blocks. No errors.
class Partition {
 public:
  // `size`, the number of places of the order, is 1 to 2^62. `rank` is below
  // `world_size`.
  Partition(std::uint64_t size, std::uint32_t rank, std::uint32_t world_size,
            Pad pad);

  std::uint64_t size() const { return size_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t world_size() const { return world_size_; }

  // Returns the number of this rank's positions; may be 0 with kDrop and kNone.
  std::uint64_t count() const { return count_; }
  // Whether places may be repeated so that all ranks have equally many
  // positions.
  bool is_padded() const { return is_padded_; }
  // Returns the largest count() of all ranks.
  std::uint64_t most_count() const { return most_count_; }

  // Returns the place that this rank visits at `position`, which is below
  // count().
  std::uint64_t PlaceAt(std::uint64_t position) const;

  // Returns the first position at which this rank visits `place`, which is
  // below size(); nullopt if it never does.
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
