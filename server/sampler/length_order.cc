#include "server/sampler/length_order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "server/base/check.h"
#include "server/base/philox.h"

namespace forebay::sampler {
namespace {

// BatchesBetween counts the batches of at most this many earlier windows. For
// windows before these, it estimates the number. Windows as near as these are
// kept already, or will be wanted soon.
constexpr std::uint64_t kCounted = 2;

// Returns the number of steps in a window. If all batches have one size, the
// number is a multiple of that size.
std::uint64_t StepsOf(const LengthPlan& plan, std::uint32_t world_size) {
  const std::uint64_t steps = (plan.window + world_size - 1) / world_size;
  if (plan.limit.has_value()) return steps;
  return (steps + plan.batch - 1) / plan.batch * plan.batch;
}

}  // namespace

std::uint64_t LengthOrder::BytesOf(const LengthPlan& plan,
                                   std::uint32_t world_size) {
  // A sample takes 8 bytes in `samples`, 4 in `indexes`, and at most 8 in
  // `ends`; vectors may reserve more.
  constexpr std::uint64_t kBytesEach = 3 * sizeof(std::uint64_t);
  return kBytesEach * world_size * StepsOf(plan, world_size);
}

LengthOrder::LengthOrder(const LengthPlan& plan, const Partition& partition,
                         const std::optional<Permutation>& shuffle,
                         std::uint64_t seed, std::uint64_t epoch)
    : plan_(plan),
      partition_(partition),
      shuffle_(shuffle),
      seed_(seed),
      epoch_(epoch),
      steps_(StepsOf(plan, partition.world_size())),
      store_(plan.make_store()) {
  FOREBAY_CHECK(plan.lengths != nullptr && plan.window > 0 && plan.batch > 0);
}

std::uint64_t LengthOrder::SampleAt(std::uint64_t position) const {
  FOREBAY_CHECK(position < partition_.count());
  const LengthWindowPtr window = WindowAt(position);
  return window
      ->samples[(position - FirstOf(window->number)) * partition_.world_size() +
                partition_.rank()];
}

std::optional<std::uint64_t> LengthOrder::PositionOf(
    std::uint64_t sample) const {
  const std::uint64_t count = partition_.count();
  const std::uint32_t world_size = partition_.world_size();
  const std::uint64_t place =
      shuffle_.has_value() ? shuffle_->PositionOf(sample) : sample;
  const std::uint64_t step = place / world_size;
  if (count == 0 || step >= partition_.most_count()) return std::nullopt;
  const LengthWindowPtr window = store_->Find(step / steps_);
  if (window == nullptr) return std::min(step, count - 1);
  const std::uint64_t first = FirstOf(window->number);
  const std::uint64_t index = window->indexes[place - first * world_size];
  if (index % world_size != partition_.rank()) return std::nullopt;
  return first + index / world_size;
}

std::uint64_t LengthOrder::EndOfBatch(std::uint64_t position) const {
  const LengthWindowPtr window = WindowAt(position);
  const std::uint64_t first = FirstOf(window->number);
  const auto end = std::upper_bound(window->ends.begin(), window->ends.end(),
                                    position - first);
  return std::min(first + *end, partition_.count());
}

std::optional<std::uint64_t> LengthOrder::BatchesBetween(
    std::uint64_t from, std::uint64_t to) const {
  if (from >= to) return from == to ? std::optional(0) : std::nullopt;
  if (to >= partition_.count()) return std::nullopt;
  const LengthWindowPtr window = WindowAt(to);
  const std::uint64_t begin = FirstOf(window->number);
  const std::vector<std::uint64_t>& ends = window->ends;
  const auto before = std::lower_bound(ends.begin(), ends.end(), to - begin);
  const bool begins_one =
      to == begin || (before != ends.end() && *before == to - begin);
  if (!begins_one) return std::nullopt;
  // The number of the window's batches that end at or before `to`.
  const auto behind =
      static_cast<std::uint64_t>(before - ends.begin()) + (to == begin ? 0 : 1);
  if (from >= begin) {
    const auto passed =
        std::upper_bound(ends.begin(), ends.end(), from - begin) - ends.begin();
    return behind - static_cast<std::uint64_t>(passed);
  }
  const std::uint64_t first = from / steps_;
  if (window->number - first > kCounted)
    return behind + (begin - from) * ends.size() / ends.back() + 1;
  std::uint64_t batches = behind;
  for (std::uint64_t number = first; number < window->number; ++number) {
    const LengthWindowPtr passed = WindowAt(FirstOf(number));
    const auto last = number > first ? passed->ends.begin()
                                     : std::upper_bound(passed->ends.begin(),
                                                        passed->ends.end(),
                                                        from - FirstOf(first));
    batches += static_cast<std::uint64_t>(passed->ends.end() - last);
  }
  return batches;
}

std::uint64_t LengthOrder::BaseAt(std::uint64_t place) const {
  const std::uint64_t within = place % partition_.size();
  return shuffle_.has_value() ? shuffle_->At(within) : within;
}

LengthWindowPtr LengthOrder::WindowAt(std::uint64_t position) const {
  const std::uint64_t number = position / steps_;
  if (LengthWindowPtr kept = store_->Find(number); kept != nullptr) return kept;
  LengthWindowPtr planned = Plan(number);
  store_->Keep(planned);
  return planned;
}

LengthWindowPtr LengthOrder::Plan(std::uint64_t number) const {
  const std::uint32_t world_size = partition_.world_size();
  const std::uint64_t first = FirstOf(number);
  const std::uint64_t last = std::min(first + steps_, partition_.most_count());
  const std::uint64_t begin = first * world_size;
  const std::uint64_t end = std::min(last * world_size, partition_.size());
  std::vector<std::uint64_t> samples(end - begin);
  std::vector<std::uint64_t> lengths(end - begin);
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    samples[i] = BaseAt(begin + i);
    lengths[i] = plan_.lengths->LengthOf(samples[i]);
  }
  std::vector<std::uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  if (plan_.sorts) Sort(SortedOf(samples.size()), &order, &lengths);
  // Padding comes behind all samples. The order of the samples is then the same
  // for any number of ranks, and so is the meaning of a saved state.
  const std::uint64_t places =
      partition_.is_padded() ? last * world_size - begin : samples.size();
  for (std::uint64_t i = samples.size(); i < places; ++i) {
    order.push_back(static_cast<std::uint32_t>(i));
    samples.push_back(BaseAt(begin + i));
    lengths.push_back(plan_.lengths->LengthOf(samples.back()));
  }

  auto window = std::make_shared<LengthWindow>();
  window->number = number;
  window->indexes.resize(samples.size());
  const std::vector<std::uint64_t> ends = Cut(lengths);
  for (const std::size_t batch : Shuffled(ends, end - begin, number)) {
    const std::uint64_t from = batch == 0 ? 0 : ends[batch - 1];
    const std::uint64_t to =
        std::min<std::uint64_t>(ends[batch] * world_size, order.size());
    for (std::uint64_t i = from * world_size; i < to; ++i) {
      window->indexes[order[i]] =
          static_cast<std::uint32_t>(window->samples.size());
      window->samples.push_back(samples[order[i]]);
    }
    window->ends.push_back((window->ends.empty() ? 0 : window->ends.back()) +
                           ends[batch] - from);
  }
  return window;
}

// The last samples, which do not make a whole batch, are not sorted. Some of
// them may be left out of the epoch. They must not be the shortest samples in
// each epoch.
std::uint64_t LengthOrder::SortedOf(std::uint64_t samples) const {
  if (plan_.limit.has_value()) return samples;
  return samples - samples % (plan_.batch * partition_.world_size());
}

// Sorting is stable: samples of one length keep their order.
void LengthOrder::Sort(std::uint64_t count, std::vector<std::uint32_t>* order,
                       std::vector<std::uint64_t>* lengths) {
  const auto sorted = static_cast<std::ptrdiff_t>(count);
  std::stable_sort(order->begin(), order->begin() + sorted,
                   [&](std::uint32_t one, std::uint32_t other) {
                     return (*lengths)[one] > (*lengths)[other];
                   });
  std::stable_sort(lengths->begin(), lengths->begin() + sorted,
                   std::greater<>());
}

std::vector<std::uint64_t> LengthOrder::Cut(
    absl::Span<const std::uint64_t> lengths) const {
  const std::uint32_t world_size = partition_.world_size();
  std::vector<std::uint64_t> ends;
  std::uint64_t end = 0;
  while (end * world_size < lengths.size()) {
    end += StepsOfBatch(lengths.subspan(end * world_size), world_size, plan_);
    ends.push_back(end);
  }
  return ends;
}

// The last batch stays last if it is shorter than the others, if it is padded,
// or if its last step lacks samples.
std::vector<std::size_t> LengthOrder::Shuffled(
    absl::Span<const std::uint64_t> ends, std::uint64_t samples,
    std::uint64_t window) const {
  std::vector<std::size_t> batches(ends.size());
  std::iota(batches.begin(), batches.end(), 0);
  if (!plan_.sorts || !shuffle_.has_value() || ends.empty()) return batches;
  const std::uint64_t key =
      base::PhiloxStream(seed_, epoch_, window, base::kLengthWindowStream)
          .NextUint64();
  const std::uint32_t world_size = partition_.world_size();
  const std::uint64_t moved =
      plan_.limit.has_value()
          ? ends.size() - (samples % world_size != 0 ? 1 : 0)
          : samples / world_size / plan_.batch;
  if (moved == 0) return batches;
  const Permutation places(moved, key, epoch_);
  for (std::uint64_t i = 0; i < moved; ++i) batches[i] = places.At(i);
  return batches;
}

}  // namespace forebay::sampler
