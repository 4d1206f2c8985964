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

// The order of one epoch by a LengthPlan, as one rank sees it. A base order
// that ignores lengths (a shuffle, or the sequence of the dataset) is cut into
// windows. If the plan says so, the samples of a window are sorted by length.
// The window is cut into batches, and the batches are shuffled. All ranks have
// batches of equally many samples at the same steps, and the samples of these
// batches have similar lengths.
//
// A step has one position of every rank: `world_size` consecutive places of the
// order. Any position can be asked for. A window is planned when one of its
// positions is first asked for, and is kept in the store. Equal plans,
// partitions, seeds and epochs give the same order, on every machine.
//
// Thread-safe. Owns the store, and shares the lengths. Does not wait for I/O,
// but a call may plan a window, which takes O(n log n) time for its n samples.
// No errors.
class LengthOrder {
 public:
  // Returns the memory that a window of the plan takes, in bytes.
  static std::uint64_t BytesOf(const LengthPlan& plan,
                               std::uint32_t world_size);

  // `shuffle` has the partition's size; if it is nullopt, the base order is the
  // sequence.
  LengthOrder(const LengthPlan& plan, const Partition& partition,
              const std::optional<Permutation>& shuffle, std::uint64_t seed,
              std::uint64_t epoch);

  // Returns the sample at `position`, which is below the partition's count().
  std::uint64_t SampleAt(std::uint64_t position) const;
  // If the sample's window is kept, returns the position of `sample`, or
  // nullopt if another rank has the sample. If the window is not kept, returns
  // the position in the base order, which lies in the same window.
  std::optional<std::uint64_t> PositionOf(std::uint64_t sample) const;
  // Returns the first position behind the batch that contains `position`.
  std::uint64_t EndOfBatch(std::uint64_t position) const;
  // Returns how many batches begin at the positions from `from` to `to` - 1. A
  // batch must begin at `from`. The number is an estimate if more than a few
  // windows lie between `from` and `to`. Returns nullopt if no batch begins at
  // `to`.
  std::optional<std::uint64_t> BatchesBetween(std::uint64_t from,
                                              std::uint64_t to) const;

 private:
  // Returns the sample at a place of the base order. Places beyond the order's
  // end repeat its start.
  std::uint64_t BaseAt(std::uint64_t place) const;
  // Returns the first step of a window.
  std::uint64_t FirstOf(std::uint64_t window) const { return window * steps_; }
  // Returns the window that contains the position. Plans it unless it is kept.
  LengthWindowPtr WindowAt(std::uint64_t position) const;
  // Plans the window with that number.
  LengthWindowPtr Plan(std::uint64_t number) const;
  // Returns how many of a window's samples are sorted.
  std::uint64_t SortedOf(std::uint64_t samples) const;
  // Sorts the first `count` elements of `order` and `lengths` by length, the
  // longest first.
  static void Sort(std::uint64_t count, std::vector<std::uint32_t>* order,
                   std::vector<std::uint64_t>* lengths);
  // Cuts a window's samples, in the order of `lengths`, into batches. Returns
  // the step behind the last step of each batch.
  std::vector<std::uint64_t> Cut(absl::Span<const std::uint64_t> lengths) const;
  // Returns the order of the batches that end at `ends`. `samples` is the
  // number of samples in the window without padding.
  std::vector<std::size_t> Shuffled(absl::Span<const std::uint64_t> ends,
                                    std::uint64_t samples,
                                    std::uint64_t window) const;

  const LengthPlan plan_;
  const Partition partition_;
  const std::optional<Permutation> shuffle_;
  const std::uint64_t seed_;
  const std::uint64_t epoch_;
  // The number of steps in a window.
  const std::uint64_t steps_;
  const std::unique_ptr<WindowStore> store_;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_SERVER_SAMPLER_LENGTH_ORDER_H_
