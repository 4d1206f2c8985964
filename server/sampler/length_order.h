#ifndef FOREBAY_SERVER_SAMPLER_LENGTH_ORDER_H_
#define FOREBAY_SERVER_SAMPLER_LENGTH_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "server/sampler/length_plan.h"
#include "server/sampler/length_window.h"
#include "server/sampler/partition.h"
#include "server/sampler/permutation.h"

namespace forebay::sampler {

// The order of one epoch by a LengthPlan, as one rank sees it. An order without
// lengths, a shuffle or the sequence, is cut into windows. Within each, samples
// are sorted by length, if the plan says so, and cut into batches, which are
// shuffled. All ranks' batches have equally many samples, of like lengths.
//
// Any position can be asked for. A window is planned when it is first asked
// for, and kept by the plan's store. Equal plans, partitions, seeds and epochs
// give the equal order, on every machine.
//
// Thread-safe; owns the store, and shares the lengths; never blocks, but plans
// a window perhaps; has no errors.
class LengthOrder {
 public:
  // Bytes that a window of such a plan takes.
  static std::uint64_t BytesOf(const LengthPlan& plan,
                               std::uint32_t world_size);

  // `shuffle` is of the partition's size; nullopt: samples come in sequence.
  LengthOrder(const LengthPlan& plan, const Partition& partition,
              const std::optional<Permutation>& shuffle, std::uint64_t seed,
              std::uint64_t epoch);

  // Returns the sample at `position`, which is below the partition's count().
  std::uint64_t SampleAt(std::uint64_t position) const;
  // Returns the position of `sample` if its window is at hand, and another
  // rank's sample has none then. Else returns one about there.
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample) const;
  // Returns the position behind the batch that the one at `position` is in.
  std::uint64_t EndOfBatch(std::uint64_t position) const;
  // Returns how many batches begin from `from`, which begins one, up to `to`.
  // Beyond some windows, that is a guess. Returns nullopt if `to` begins none.
  std::optional<std::uint64_t> BatchesBetween(std::uint64_t from,
                                              std::uint64_t to) const;

 private:
  std::uint64_t BaseAt(std::uint64_t place) const;
  std::uint64_t FirstOf(std::uint64_t window) const { return window * steps_; }
  LengthWindowPtr WindowAt(std::uint64_t position) const;
  LengthWindowPtr Plan(std::uint64_t number) const;
  std::uint64_t SortedOf(std::uint64_t samples) const;
  static void Sort(std::uint64_t count, std::vector<std::uint32_t>* order,
                   std::vector<std::uint64_t>* lengths);
  std::vector<std::uint64_t> Cut(absl::Span<const std::uint64_t> lengths) const;
  std::vector<std::size_t> Shuffled(absl::Span<const std::uint64_t> ends,
                                    std::uint64_t samples,
                                    std::uint64_t window) const;

  const LengthPlan plan_;
  const Partition partition_;
  const std::optional<Permutation> shuffle_;
  const std::uint64_t seed_;
  const std::uint64_t epoch_;
  const std::uint64_t steps_;  // of a window
  const std::unique_ptr<WindowStore> store_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_LENGTH_ORDER_H_
