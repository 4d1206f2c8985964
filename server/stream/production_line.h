#ifndef FOREBAY_SERVER_STREAM_PRODUCTION_LINE_H_
#define FOREBAY_SERVER_STREAM_PRODUCTION_LINE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "proto/job.pb.h"
#include "server/arena/slot_pool.h"
#include "server/base/index_list.h"
#include "server/sampler/sampler.h"
#include "server/stream/batch.h"

namespace forebay::stream {

// The batches of an epoch in the making, in order. A free slot begins a new one
// at the back; places are handed out in order, front first; the front batch
// leaves when all of its places are done.
//
// An abandoned epoch's batches leave at once: places that were not handed out
// are dropped, those that were finish in vain, and the last one frees the slot.
//
// Not thread-safe: the stream guards it. Owns the batches: a place is there
// until it is finished. Slots belong to the pool that every call passes. Never
// blocks; no errors.
class ProductionLine {
 public:
  ProductionLine(const sampler::Sampler& sampler, const proto::BatchSpec& batch,
                 std::uint64_t seed, std::uint64_t dataset_size);

  std::uint64_t epoch() const { return order_.epoch(); }
  const sampler::EpochOrder& order() const { return order_; }
  std::uint64_t batches_per_epoch() const;
  // Samples of the epoch that no batch has begun yet.
  std::uint64_t samples_left() const { return order_.samples() - next_sample_; }

  // `list`: as Sampler::Epoch's.
  void Start(std::uint64_t epoch, std::uint64_t first_sample,
             std::shared_ptr<const base::IndexList> list = nullptr);
  // Whether there is another batch to begin.
  bool HasMore() const { return samples_left() > 0 && !LeavesTailOut(); }
  // Begins batches in free slots until `most` are in the making.
  void Begin(arena::SlotPool& pool, std::size_t most);

  // Places to be read.
  std::size_t waiting() const;
  // Samples of the epoch that are being read, or were, or were passed over.
  std::uint64_t samples_handed_out() const {
    return next_sample_ - std::min<std::uint64_t>(next_sample_, waiting());
  }
  // The place to be read next; PutBack undoes it.
  // Null if there is none.
  Place* Next();
  void PutBack(Place* place);
  // Whether a failed place is to be read once more, with another sample in it:
  // where its bytes are corrupt and corrupt samples are to be substituted.
  bool Substitute(Place& place, const absl::Status& status);
  // A place that was handed out is done, well or not. The status of a batch is
  // that of its first place that failed.
  void Finish(const Place& place, const absl::Status& status,
              arena::SlotPool& pool);

  // The front batch, if it is complete: it leaves the line.
  std::unique_ptr<Batch> TakeComplete();
  // No batch is in the making, and none is to come.
  bool Exhausted() const;
  // Samples between the next batch and the sample's use in the next epoch;
  // nullopt if this rank does not see it there.
  std::optional<std::uint64_t> SamplesUntilReuse(std::uint64_t sample) const;
  // Samples of the batches between this one and the front.
  std::uint64_t Ahead(const Batch& batch) const {
    return batch.first_sample - batches_.front()->first_sample;
  }

  // Nothing of the epoch is wanted any more.
  void Abandon(arena::SlotPool& pool);

 private:
  // Whether the next batch would be a last, smaller one that is left out.
  bool LeavesTailOut() const;

  const sampler::Sampler sampler_;
  const proto::BatchSpec batch_;
  const std::uint64_t seed_;
  const std::uint64_t dataset_size_;

  sampler::EpochOrder order_;
  sampler::EpochOrder next_order_;  // of the epoch after
  std::uint64_t next_sample_ = 0;   // the first of the next batch
  std::deque<std::unique_ptr<Batch>> batches_;
  std::deque<Place*> put_back_;
  std::vector<std::unique_ptr<Batch>> abandoned_;  // with places to finish
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PRODUCTION_LINE_H_
