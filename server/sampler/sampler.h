#ifndef FOREBAY_SERVER_SAMPLER_SAMPLER_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/index_list.h"
#include "server/sampler/block_order.h"
#include "server/sampler/draws.h"
#include "server/sampler/partition.h"
#include "server/sampler/permutation.h"

namespace forebay::sampler {

// Epochs are numbered below this, so that there is always one after.
inline constexpr std::uint64_t kEpochs = std::uint64_t{1} << 63;

// One epoch of a Sampler, with the epoch's keys worked out: for whoever asks
// for many positions of the same epoch. Immutable value, thread-safe, never
// blocks, has no errors.
class EpochOrder {
 public:
  std::uint64_t epoch() const { return epoch_; }
  // Of this rank, in this epoch.
  std::uint64_t samples() const;

  // As Sampler's, in this epoch.
  std::uint64_t SampleAt(std::uint64_t position) const;
  // Of an epoch whose list has not come yet, the middle, for every sample: that
  // is how far away each is, on average.
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample) const;
  // The first position of `sample` that is not before `from`, as far as that
  // can be told: but for a list, only a sample's first position is known.
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample,
                                          std::uint64_t from) const;
  // How often a list has the sample at `position` before that.
  std::uint64_t RepeatsBefore(std::uint64_t position) const;
  // Whether the samples are a list's.
  bool is_listed() const {
    return std::holds_alternative<List>(order_) ||
           std::holds_alternative<Unlisted>(order_);
  }

  // Where the order is one of blocks (else nullopt): the samples that lie
  // together with this one, all ranks'.
  std::optional<Block> BlockOf(std::uint64_t sample) const;
  // And a block of later ones that should be read by the time that this rank
  // comes to `position`, if that is the time for one.
  std::optional<Block> DueAt(std::uint64_t position) const;

 private:
  using List = std::shared_ptr<const base::IndexList>;
  // A list of so many is expected.
  struct Unlisted {
    std::uint64_t samples = 0;
  };
  // Of the whole dataset; monostate: sequential. A list is of one rank's
  // samples alone.
  using Order = std::variant<std::monostate, Permutation, BlockOrder, List,
                             Unlisted, std::shared_ptr<Draws>>;

  friend class Sampler;
  EpochOrder(std::uint64_t epoch, const Partition& partition, Order order)
      : epoch_(epoch), partition_(partition), order_(std::move(order)) {}

  std::uint64_t epoch_;
  Partition partition_;
  Order order_;
};

// Which sample stands where in each epoch of one rank, and the other way round;
// O(1) both ways and in memory. Or, where the order is LISTED, whoever starts
// an epoch says so, by a list of this rank's samples. Immutable value,
// thread-safe, never blocks. Create fails with INVALID_ARGUMENT.
class Sampler {
 public:
  static absl::StatusOr<Sampler> Create(const proto::SamplerSpec& spec,
                                        std::uint64_t dataset_size);

  std::uint64_t dataset_size() const { return dataset_size_; }

  // Samples that this rank sees in an epoch; at most 2^62. 0 is possible where
  // a dataset smaller than the world is not padded, and where lists say it.
  std::uint64_t samples_per_epoch() const {
    return is_listed() ? 0 : partition_.count();
  }
  bool is_listed() const { return order_ == proto::SamplerSpec::LISTED; }
  // Whether samples are drawn as they are asked for: then a sampler `With`
  // draws is to be used.
  bool is_coordinated() const {
    return order_ == proto::SamplerSpec::COORDINATED;
  }
  Sampler With(std::shared_ptr<Draws> draws) const {
    Sampler copy = *this;
    copy.draws_ = std::move(draws);
    return copy;
  }

  // INVALID_ARGUMENT: no epoch has that number.
  static absl::Status CheckEpoch(std::uint64_t epoch);
  // INVALID_ARGUMENT: the order needs a list and there is none (null), or the
  // other way round.
  absl::Status CheckList(const base::IndexList* list) const;
  // `epoch` is below kEpochs, or the one after.
  // `list`: where the order is LISTED, what the epoch is; its numbers are below
  // dataset_size(). Null: none, or an epoch without samples.
  EpochOrder Epoch(std::uint64_t epoch,
                   std::shared_ptr<const base::IndexList> list = nullptr) const;
  // The epoch after, as far as it can be told.
  EpochOrder After(const EpochOrder& order) const;

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
  std::shared_ptr<Draws> draws_;  // null: nothing is drawn
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLER_H_
