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
#include "server/sampler/length_order.h"
#include "server/sampler/length_plan.h"
#include "server/sampler/partition.h"
#include "server/sampler/permutation.h"
#include "server/sampler/sample_draws.h"

namespace forebay::proto {
class SamplerSpec;
}  // namespace forebay::proto

namespace forebay::sampler {

// The number of epochs. Epochs are numbered from 0 to kEpochs - 1, so that the
// number after the last one is valid too.
inline constexpr std::uint64_t kEpochs = std::uint64_t{1} << 63;

// The order of one epoch: which sample of this rank stands at which position.
// Finds a position's sample, and a sample's position, in O(1) time. Takes O(1)
// memory, besides the memory of a list and of windows by length (LengthOrder).
//
// Immutable value, thread-safe. Shares lists, draws and windows with its
// copies. Never blocks, but may plan a window. No errors.
class EpochOrder {
 public:
  std::uint64_t epoch() const { return epoch_; }
  // Returns the number of this rank's samples in this epoch.
  std::uint64_t samples() const;

  // Returns the sample at `position`, which is below samples().
  std::uint64_t SampleAt(std::uint64_t position) const;
  // Returns the first position of `sample`; nullopt if this rank does not see
  // it. Three orders give estimates. If the epoch's list is not known, the
  // position is the middle of the epoch. If lengths decide the order and the
  // sample's window is not planned, the position is in the right window. For
  // draws, see SampleDraws.
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample) const;
  // Returns the first position of `sample` that is at or behind `from`. For
  // orders other than a list, returns nullopt if the sample's first position is
  // before `from`.
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample,
                                          std::uint64_t from) const;
  // Returns how often the sample at `position` occurs earlier in the epoch's
  // list; 0 for other orders.
  std::uint64_t RepeatsBefore(std::uint64_t position) const;
  // Returns whether the samples come from a list, even if the list is not known
  // yet.
  bool is_listed() const {
    return std::holds_alternative<List>(order_) ||
           std::holds_alternative<Unlisted>(order_);
  }

  // Returns the order by length, which says which samples make a batch; null
  // for other orders.
  const LengthOrder* by_length() const {
    const auto* const order =
        std::get_if<std::shared_ptr<const LengthOrder>>(&order_);
    return order == nullptr ? nullptr : order->get();
  }

  // Returns the block that contains the sample, with the samples of all ranks;
  // nullopt if the order is not one of blocks.
  std::optional<Block> BlockOf(std::uint64_t sample) const;
  // Returns a later block that should be read when this rank comes to
  // `position`; nullopt if none is due.
  std::optional<Block> DueAt(std::uint64_t position) const;

 private:
  using List = std::shared_ptr<const base::IndexList>;
  // A list that is not known yet.
  struct Unlisted {
    // The number of samples that the list is expected to have.
    std::uint64_t samples = 0;
  };
  // The order of the whole dataset; monostate if the order is sequential. A
  // list, or draws, have the samples of one rank alone.
  using Order = std::variant<std::monostate, Permutation, BlockOrder, List,
                             Unlisted, std::shared_ptr<SampleDraws>,
                             std::shared_ptr<const LengthOrder>>;

  friend class Sampler;
  EpochOrder(std::uint64_t epoch, const Partition& partition, Order order)
      : epoch_(epoch), partition_(partition), order_(std::move(order)) {}

  std::uint64_t epoch_;
  Partition partition_;
  Order order_;
};

// The kinds of order; proto::SamplerSpec describes each.
enum class Order {
  kSequential,
  kShuffle,
  kBlockShuffle,
  kListed,
  kCoordinated
};

// Gives the order of each epoch for one rank. If the order is kListed, the
// caller that starts an epoch passes a list of this rank's samples.
//
// Immutable value, thread-safe. Shares draws and lengths with its copies. Never
// blocks. Errors: INVALID_ARGUMENT, as each method says.
class Sampler {
 public:
  // Creates the sampler of a spec from a client. INVALID_ARGUMENT: the spec or
  // the dataset's size is not valid.
  static absl::StatusOr<Sampler> Create(const proto::SamplerSpec& spec,
                                        std::uint64_t dataset_size);

  std::uint64_t dataset_size() const { return dataset_size_; }

  // Returns the number of samples that this rank sees in an epoch; at most
  // 2^62. If each epoch's list decides the number, returns 0. The number may
  // also be 0 if the dataset has fewer samples than there are ranks and is not
  // padded.
  std::uint64_t samples_per_epoch() const {
    return is_listed() ? 0 : partition_.count();
  }
  bool is_listed() const { return order_ == Order::kListed; }
  // Returns whether samples are drawn when they are asked for. If so, only the
  // copy that With returns may be used.
  bool is_coordinated() const { return order_ == Order::kCoordinated; }
  // Returns a copy that takes its samples from `draws`.
  Sampler With(std::shared_ptr<SampleDraws> draws) const {
    Sampler copy = *this;
    copy.draws_ = std::move(draws);
    return copy;
  }

  // Returns a copy of this sampler in which lengths decide the order of the
  // samples and their batches. INVALID_ARGUMENT: the order is neither a shuffle
  // nor sequential.
  absl::StatusOr<Sampler> ByLength(LengthPlan plan) const;
  const Partition& partition() const { return partition_; }

  // Checks an epoch's number. INVALID_ARGUMENT: no epoch has that number.
  static absl::Status CheckEpoch(std::uint64_t epoch);
  // Checks that a list was sent exactly if the order needs one; `list` is null
  // if none was sent. INVALID_ARGUMENT: the list is missing or not wanted.
  absl::Status CheckList(const base::IndexList* list) const;
  // Returns the order of an epoch; `epoch` is at most kEpochs. If the order is
  // kListed, `list` has the epoch's samples, which are numbers below
  // dataset_size(). `list` is null for an epoch without samples.
  EpochOrder Epoch(std::uint64_t epoch,
                   std::shared_ptr<const base::IndexList> list = nullptr) const;
  // Returns the order of the next epoch. If that depends on a list or on draws,
  // only the expected number of samples is known.
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
  // The number of samples in a block, for kBlockShuffle.
  std::uint64_t block_;
  std::uint64_t seed_;
  // The draws of a coordinated order; null for others.
  std::shared_ptr<SampleDraws> draws_;
  // The plan of an order by length; nullopt for others.
  std::optional<LengthPlan> plan_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_SAMPLER_H_
