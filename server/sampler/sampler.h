#ifndef FOREBAY_SERVER_SAMPLER_SAMPLER_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLER_H_

#include <cstdint>
#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/sampler/block_order.h"
#include "server/sampler/partition.h"
#include "server/sampler/permutation.h"

namespace forebay::sampler {

// One epoch of a Sampler, with the epoch's keys worked out: for whoever asks
// for many positions of the same epoch. Immutable value, thread-safe, never
// blocks, has no errors.
class EpochOrder {
 public:
  std::uint64_t epoch() const { return epoch_; }
  // That this rank sees in it.
  std::uint64_t samples() const { return partition_.count(); }

  // As Sampler's, in this epoch.
  std::uint64_t SampleAt(std::uint64_t position) const;
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample) const;

  // Where the order is one of blocks (else nullopt): the samples that lie
  // together with this one, all ranks'.
  std::optional<Block> BlockOf(std::uint64_t sample) const;
  // And a block of later ones that should be read by the time that this rank
  // comes to `position`, if that is the time for one.
  std::optional<Block> DueAt(std::uint64_t position) const;

 private:
  // Of the whole dataset; monostate: sequential.
  using Order = std::variant<std::monostate, Permutation, BlockOrder>;

  friend class Sampler;
  EpochOrder(std::uint64_t epoch, const Partition& partition, Order order)
      : epoch_(epoch), partition_(partition), order_(order) {}

  std::uint64_t epoch_;
  Partition partition_;
  Order order_;
};

// Which sample stands where in each epoch of one rank, and the other way round;
// O(1) both ways and in memory. Immutable value, thread-safe, never blocks.
// Create fails with INVALID_ARGUMENT.
class Sampler {
 public:
  static absl::StatusOr<Sampler> Create(const proto::SamplerSpec& spec,
                                        std::uint64_t dataset_size);

  std::uint64_t dataset_size() const { return dataset_size_; }

  // Samples that this rank sees in an epoch; at most 2^62. 0 is possible where
  // a dataset smaller than the world is not padded.
  std::uint64_t samples_per_epoch() const { return partition_.count(); }

  EpochOrder Epoch(std::uint64_t epoch) const;

  // The sample (0 to dataset_size - 1) at `position` (0 to samples_per_epoch()
  // - 1).
  std::uint64_t SampleAt(std::uint64_t epoch, std::uint64_t position) const;

  // The first position of `sample` (0 to dataset_size - 1) in this rank's
  // epoch; nullopt if another rank sees it, or none does.
  std::optional<std::uint64_t> PositionOf(std::uint64_t epoch,
                                          std::uint64_t sample) const;

 private:
  Sampler(const Partition& partition, std::uint64_t dataset_size,
          proto::SamplerSpec::Order order, std::uint64_t block,
          std::uint64_t seed)
      : partition_(partition),
        dataset_size_(dataset_size),
        order_(order),
        block_(block),
        seed_(seed) {}

  Partition partition_;
  std::uint64_t dataset_size_;
  proto::SamplerSpec::Order order_;
  std::uint64_t block_;
  std::uint64_t seed_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLER_H_
