#ifndef FOREBAY_SERVER_STREAM_IN_FLIGHT_BATCHES_H_
#define FOREBAY_SERVER_STREAM_IN_FLIGHT_BATCHES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/arena/slot_pool.h"
#include "server/stream/batch.h"
#include "server/stream/batch_layout.h"
#include "server/stream/sample_room.h"

namespace forebay::stream {

// The batches in flight, in the order in which they were begun: their samples
// are handed out in that order. A batch is complete when all of its samples are
// done; then the caller removes it, perhaps after it was copied.
//
// A batch that no member wants any more is abandoned: samples that were not
// handed out are dropped, the others finish in vain, and the last one frees the
// slot.
//
// Not thread-safe: the stream guards it. Owns the batches; a sample lives until
// it is finished. Slots belong to the pool that calls pass. Never blocks; no
// errors.
class InFlightBatches {
 public:
  // `room`: what each sample needs of the layout's; null: all have as much as
  // the longest. Both outlive it.
  InFlightBatches(const BatchOptions& batch, std::uint64_t seed,
                  std::uint64_t dataset_size,
                  const BatchLayout* layout = nullptr,
                  const SampleRoom* room = nullptr);

  // Begins the batch of `key`, which has so many samples (at least one), in a
  // slot that was taken for it, whose host part is `host`. It is booked to its
  // sponsor, until the caller adds others.
  Batch* Begin(const BatchKey& key, std::uint64_t samples,
               std::shared_ptr<const EpochPair> epochs, arena::MemberId sponsor,
               std::uint32_t slot, std::uint8_t* host);

  // Returns null if the batch of that key is not in flight.
  const Batch* Find(const BatchKey& key) const;
  bool empty() const { return batches_.empty(); }
  // Whether there are batches, and all of them hang in reads.
  bool Hangs(std::int64_t now_nanos) const;
  // Counts the batches that are made for the member, abandoned ones too.
  std::uint32_t MadeFor(arena::MemberId sponsor) const;

  const std::deque<std::unique_ptr<Batch>>& batches() const { return batches_; }

  // Counts the batches that are being copied to GPUs.
  std::uint32_t Copying() const;
  // Counts the samples that were not handed out.
  std::size_t waiting() const;
  // Hands out the sample to be read next; with `capped`, also of a batch that
  // only jobs with caps want. PutBack undoes it. Returns null if there is none.
  PendingSample* Next(bool capped);
  void PutBack(PendingSample* pending);
  // Puts another dataset sample in the place of a failed one, to be read, if
  // its bytes are corrupt and corrupt samples are to be substituted. Else
  // returns false.
  bool Substitute(PendingSample& pending, const absl::Status& status);
  // Has a sample read again that is lost. Returns false if nobody wants it.
  bool ReadAgain(PendingSample& pending);
  // Finishes a sample that was handed out, well or not. Returns its batch if
  // that is complete, else null. The status of a batch is that of its first
  // sample that failed.
  Batch* Finish(const PendingSample& pending, const absl::Status& status,
                arena::SlotPool& pool);
  // Finishes a copy of a complete batch. Returns false if it was abandoned.
  bool FinishCopy(Batch* batch, arena::SlotPool& pool);
  // Says that the memory of that GPU is gone.
  void ForgetCopiesOn(const device::Device* device);
  // Removes a complete batch that is not being copied.
  std::unique_ptr<Batch> Remove(const Batch* batch);

  // Ends a member's sponsorship: each of its batches goes to the heir that
  // `heir` names, or is abandoned.
  void Retire(
      arena::MemberId sponsor,
      const std::function<std::optional<arena::MemberId>(const BatchKey&)>&
          heir,
      arena::SlotPool& pool);

 private:
  void Abandon(std::unique_ptr<Batch> batch, arena::SlotPool& pool);
  void GiveRoom(Batch& batch) const;
  // Frees the slot of an abandoned batch if nothing writes or reads it.
  void EndIfIdle(const Batch* abandoned, arena::SlotPool& pool);

  const BatchOptions batch_;
  const std::uint64_t seed_;
  const std::uint64_t dataset_size_;
  const BatchLayout* const layout_;
  const SampleRoom* const room_;

  std::deque<std::unique_ptr<Batch>> batches_;
  std::deque<PendingSample*> put_back_;
  std::vector<std::unique_ptr<Batch>>
      abandoned_;  // with samples or copies to finish
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_IN_FLIGHT_BATCHES_H_
