#ifndef FOREBAY_SERVER_SAMPLER_SAMPLER_H_
#define FOREBAY_SERVER_SAMPLER_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/index_list.h"
#include "server/sampler/block_order.h"
#include "server/sampler/draws.h"
#include "server/sampler/length_order.h"
#include "server/sampler/length_plan.h"
#include "server/sampler/partition.h"
#include "server/sampler/permutation.h"

namespace forebay::proto {
class SamplerSpec;
}  // namespace forebay::proto

namespace forebay::sampler {

// Epochs are numbered below this, so that each has a next one.
inline constexpr std::uint64_t kEpochs = std::uint64_t{1} << 63;

// The order of one epoch: which sample of this rank stands at which position.
// Takes O(1) time both ways and O(1) memory, besides that of a list, and of
// windows by length (LengthOrder). Immutable value, thread-safe, never blocks
// but for those windows, has no errors.
class EpochOrder {
 public:
  std::uint64_t epoch() const { return epoch_; }
  // The number of this rank's samples in this epoch.
  std::uint64_t samples() const;

  // Returns the sample at `position`, which is below samples().
  std::uint64_t SampleAt(std::uint64_t position) const;
  // Returns the first position of `sample`; nullopt if another rank sees it, or
  // none does. While the epoch's list is not known, returns the middle for
  // every sample, which is how far away each is on average. If lengths decide
  // the order, returns a position about there.
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample) const;
  // Returns the first position of `sample` that is not before `from`. Unless
  // the samples are a list's, only a sample's first position is known.
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample,
                                          std::uint64_t from) const;
  // Returns how often a list has the sample at `position` before that position.
  std::uint64_t RepeatsBefore(std::uint64_t position) const;
  // Whether the samples are a list's.
  bool is_listed() const {
    return std::holds_alternative<List>(order_) ||
           std::holds_alternative<Unlisted>(order_);
  }

  // The order by length, which says what makes a batch; null in other orders.
  const LengthOrder* by_length() const {
    const auto* const order =
        std::get_if<std::shared_ptr<const LengthOrder>>(&order_);
    return order == nullptr ? nullptr : order->get();
  }

  // Returns the block of the sample, with all ranks' samples; nullopt if the
  // order is not one of blocks.
  std::optional<Block> BlockOf(std::uint64_t sample) const;
  // Returns a later block that should be read by the time that this rank comes
  // to `position`, if one is due then.
  std::optional<Block> DueAt(std::uint64_t position) const;

 private:
  using List = std::shared_ptr<const base::IndexList>;
  // The list is not known, and expected to have so many samples.
  struct Unlisted {
    std::uint64_t samples = 0;
  };
  // The order of the whole dataset; monostate if it is sequential. A list has
  // one rank's samples alone.
  using Order =
      std::variant<std::monostate, Permutation, BlockOrder, List, Unlisted,
                   std::shared_ptr<Draws>, std::shared_ptr<const LengthOrder>>;

  friend class Sampler;
  EpochOrder(std::uint64_t epoch, const Partition& partition, Order order)
      : epoch_(epoch), partition_(partition), order_(std::move(order)) {}

  std::uint64_t epoch_;
  Partition partition_;
  Order order_;
};

// The orders of proto::SamplerSpec, which says what they are.
enum class Order {
  kSequential,
  kShuffle,
  kBlockShuffle,
  kListed,
  kCoordinated
};

// Gives the order of each epoch for one rank. If the order is kListed, the
// caller that starts an epoch brings a list of this rank's samples. Immutable
// value, thread-safe, never blocks.
class Sampler {
 public:
  // INVALID_ARGUMENT: the spec is not valid, or the dataset's size.
  static absl::StatusOr<Sampler> Create(const proto::SamplerSpec& spec,
                                        std::uint64_t dataset_size);

  std::uint64_t dataset_size() const { return dataset_size_; }

  // The number of samples that this rank sees in an epoch; at most 2^62. It is
  // 0 if a list says it, and may be 0 if a dataset smaller than the world is
  // not padded.
  std::uint64_t samples_per_epoch() const {
    return is_listed() ? 0 : partition_.count();
  }
  bool is_listed() const { return order_ == Order::kListed; }
  // Whether samples are drawn when they are asked for. Then a sampler `With`
  // draws must be used.
  bool is_coordinated() const { return order_ == Order::kCoordinated; }
  Sampler With(std::shared_ptr<Draws> draws) const {
    Sampler copy = *this;
    copy.draws_ = std::move(draws);
    return copy;
  }

  // The sampler of the same samples, in which lengths decide what comes
  // together. INVALID_ARGUMENT: the order is neither a shuffle nor sequential.
  absl::StatusOr<Sampler> ByLength(LengthPlan plan) const;
  const Partition& partition() const { return partition_; }

  // INVALID_ARGUMENT: no epoch has that number.
  static absl::Status CheckEpoch(std::uint64_t epoch);
  // INVALID_ARGUMENT: the order needs a list and `list` is null, or the other
  // way round.
  absl::Status CheckList(const base::IndexList* list) const;
  // Returns the order of an epoch; `epoch` is at most kEpochs. If the order is
  // kListed, `list` has the epoch's samples, numbers below dataset_size(), or
  // is null for an epoch without samples.
  EpochOrder Epoch(std::uint64_t epoch,
                   std::shared_ptr<const base::IndexList> list = nullptr) const;
  // Returns the order of the next epoch, as far as it is known.
  EpochOrder After(const EpochOrder& order) const;

 private:
  Sampler(const Partition& partition, std::uint64_t dataset_size, Order order,
          std::uint64_t block, std::uint64_t seed)
      : partition_(partition),
        dataset_size_(dataset_size),
        order_(order),
        block_(block),
        seed_(seed) {}

  Partition partition_;
  std::uint64_t dataset_size_;
  Order order_;
  std::uint64_t block_;
  std::uint64_t seed_;
  std::shared_ptr<Draws> draws_;  // null if nothing is drawn
  std::optional<LengthPlan> plan_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLER_H_
