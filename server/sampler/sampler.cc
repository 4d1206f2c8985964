#include "server/sampler/sampler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/job.pb.h"
#include "server/base/status.h"

namespace forebay::sampler {
namespace {

// The most ranks. With at most 2^62 samples, rank + position * world_size then
// stays below 2^63.
constexpr std::uint32_t kMaxWorldSize = std::uint32_t{1} << 20;

absl::StatusOr<Order> OrderOf(const proto::SamplerSpec& spec) {
  switch (spec.order()) {
    case proto::SamplerSpec::ORDER_UNSPECIFIED:
    case proto::SamplerSpec::SEQUENTIAL:
      return Order::kSequential;
    case proto::SamplerSpec::SHUFFLE:
      return Order::kShuffle;
    case proto::SamplerSpec::LISTED:
      return Order::kListed;
    case proto::SamplerSpec::COORDINATED:
      if (spec.world_size() <= 1) return Order::kCoordinated;
      return absl::InvalidArgumentError(absl::StrCat(
          "sampler: a coordinated order is one host's and has no ranks, but "
          "world_size is ",
          spec.world_size()));
    case proto::SamplerSpec::BLOCK_SHUFFLE:
      if (spec.block_samples() > 0) return Order::kBlockShuffle;
      return absl::InvalidArgumentError("sampler: blocks have no samples");
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "sampler: order ", static_cast<int>(spec.order()), " is not known"));
  }
}

absl::StatusOr<Pad> PadOf(proto::SamplerSpec::Pad pad) {
  switch (pad) {
    case proto::SamplerSpec::PAD_UNSPECIFIED:
    case proto::SamplerSpec::WRAP:
      return Pad::kWrap;
    case proto::SamplerSpec::DROP:
      return Pad::kDrop;
    case proto::SamplerSpec::NONE:
      return Pad::kNone;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "sampler: pad ", static_cast<int>(pad), " is not known"));
  }
}

}  // namespace

std::uint64_t EpochOrder::samples() const {
  if (const auto* list = std::get_if<List>(&order_)) return (*list)->size();
  if (const auto* none = std::get_if<Unlisted>(&order_)) return none->samples;
  return partition_.count();
}

std::uint64_t EpochOrder::SampleAt(std::uint64_t position) const {
  if (const auto* list = std::get_if<List>(&order_)) {
    return (*list)->At(position);
  }
  if (const auto* draws = std::get_if<std::shared_ptr<SampleDraws>>(&order_)) {
    return (*draws)->At(position);
  }
  if (const LengthOrder* const lengths = by_length(); lengths != nullptr)
    return lengths->SampleAt(position);
  const std::uint64_t place = partition_.PlaceAt(position);
  if (const auto* full = std::get_if<Permutation>(&order_)) {
    return full->At(place);
  }
  if (const auto* blocks = std::get_if<BlockOrder>(&order_)) {
    return blocks->At(place);
  }
  return place;
}

std::optional<std::uint64_t> EpochOrder::PositionOf(
    std::uint64_t sample) const {
  if (const auto* list = std::get_if<List>(&order_)) {
    return (*list)->PositionOf(sample);
  }
  if (const auto* none = std::get_if<Unlisted>(&order_)) {
    return none->samples / 2;
  }
  if (const auto* draws = std::get_if<std::shared_ptr<SampleDraws>>(&order_)) {
    return (*draws)->PositionOf(sample);
  }
  if (const LengthOrder* const lengths = by_length(); lengths != nullptr)
    return lengths->PositionOf(sample);
  std::uint64_t place = sample;
  if (const auto* full = std::get_if<Permutation>(&order_)) {
    place = full->PositionOf(sample);
  } else if (const auto* blocks = std::get_if<BlockOrder>(&order_)) {
    place = blocks->PositionOf(sample);
  }
  return partition_.PositionOf(place);
}

std::optional<std::uint64_t> EpochOrder::PositionOf(std::uint64_t sample,
                                                    std::uint64_t from) const {
  if (const auto* list = std::get_if<List>(&order_)) {
    return (*list)->PositionOf(sample, from);
  }
  const auto first = PositionOf(sample);
  if (!first.has_value() || *first < from) return std::nullopt;
  return first;
}

std::uint64_t EpochOrder::RepeatsBefore(std::uint64_t position) const {
  const auto* const list = std::get_if<List>(&order_);
  return list == nullptr ? 0 : (*list)->RepeatsBefore(position);
}

std::optional<Block> EpochOrder::BlockOf(std::uint64_t sample) const {
  const auto* const blocks = std::get_if<BlockOrder>(&order_);
  if (blocks == nullptr) return std::nullopt;
  return blocks->BlockOf(sample);
}

std::optional<Block> EpochOrder::DueAt(std::uint64_t position) const {
  const auto* const blocks = std::get_if<BlockOrder>(&order_);
  if (blocks == nullptr) return std::nullopt;
  const std::uint64_t place = partition_.PlaceAt(position);
  if (position == 0) return blocks->DueAt(place, std::nullopt);
  const std::uint64_t previous = partition_.PlaceAt(position - 1);
  // Behind the order's end, where padding repeats the start, no block is due.
  if (previous > place) return std::nullopt;
  return blocks->DueAt(place, previous);
}

absl::StatusOr<Sampler> Sampler::Create(const proto::SamplerSpec& spec,
                                        std::uint64_t dataset_size) {
  FOREBAY_ASSIGN_OR_RETURN(const Order order, OrderOf(spec));
  FOREBAY_ASSIGN_OR_RETURN(const Pad pad, PadOf(spec.pad()));
  const std::uint32_t world_size =
      std::max<std::uint32_t>(spec.world_size(), 1);
  if (world_size > kMaxWorldSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sampler: world_size ", world_size, " is above ", kMaxWorldSize));
  }
  if (spec.rank() >= world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampler: rank ", spec.rank(), " is not below world_size ",
                     world_size));
  }
  if (dataset_size == 0) {
    return absl::InvalidArgumentError("sampler: the dataset has no samples");
  }
  if (dataset_size > kMaxSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sampler: ", dataset_size, " samples are more than ", kMaxSize));
  }
  return Sampler(Partition(dataset_size, spec.rank(), world_size, pad),
                 dataset_size, order, spec.block_samples(), spec.seed());
}

absl::StatusOr<Sampler> Sampler::ByLength(LengthPlan plan) const {
  if (order_ != Order::kShuffle && order_ != Order::kSequential) {
    return absl::InvalidArgumentError(
        "sampler: lengths decide a shuffle or a sequence alone, not blocks, "
        "lists or coordinated orders");
  }
  Sampler copy = *this;
  copy.plan_ = std::move(plan);
  return copy;
}

absl::Status Sampler::CheckEpoch(std::uint64_t epoch) {
  if (epoch < kEpochs) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "sampler: epochs are numbered below ", kEpochs, ", not ", epoch));
}

absl::Status Sampler::CheckList(const base::IndexList* list) const {
  if (is_listed() == (list != nullptr)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      is_listed() ? "sampler: the order is listed, but no list came"
                  : "sampler: a list came, but the order is not listed");
}

EpochOrder Sampler::Epoch(std::uint64_t epoch,
                          std::shared_ptr<const base::IndexList> list) const {
  EpochOrder::Order order;
  if (list != nullptr) {
    order = std::move(list);
  } else if (is_listed()) {
    order = EpochOrder::Unlisted();
  } else if (draws_ != nullptr) {
    order = draws_;
  } else if (plan_.has_value()) {
    std::optional<Permutation> shuffle;
    if (order_ == Order::kShuffle) shuffle.emplace(dataset_size_, seed_, epoch);
    order = std::make_shared<const LengthOrder>(*plan_, partition_, shuffle,
                                                seed_, epoch);
  } else if (order_ == Order::kShuffle) {
    order.emplace<Permutation>(dataset_size_, seed_, epoch);
  } else if (order_ == Order::kBlockShuffle) {
    order.emplace<BlockOrder>(dataset_size_, block_, seed_, epoch);
  }
  return EpochOrder(epoch, partition_, std::move(order));
}

EpochOrder Sampler::After(const EpochOrder& order) const {
  if (!is_listed() && draws_ == nullptr) return Epoch(order.epoch() + 1);
  return EpochOrder(order.epoch() + 1, partition_,
                    EpochOrder::Unlisted{order.samples()});
}

}  // namespace forebay::sampler
