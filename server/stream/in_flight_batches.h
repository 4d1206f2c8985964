#ifndef FOREBAY_SERVER_STREAM_IN_FLIGHT_BATCHES_H_
#define FOREBAY_SERVER_STREAM_IN_FLIGHT_BATCHES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/slots/slot_pool.h"
#include "server/stream/batch.h"
#include "server/stream/batch_layout.h"
#include "server/stream/sample_room.h"

namespace forebay::stream {

// The batches in flight, in the order in which they were begun. Their samples
// are handed out in that order. A batch is complete when all of its samples are
// done; the caller removes it then, perhaps after copies to GPUs.
//
// A batch that no member wants any more is abandoned. Its samples that were not
// handed out are dropped, the others finish in vain, and the last one frees the
// slot.
//
// Not thread-safe: the stream guards it. Owns the batches. A batch lives until
// its last sample that was handed out is finished. The slots belong to the pool
// that callers pass. Never blocks. No errors.
class InFlightBatches {
 public:
  // `room` tells how much room each sample needs in the fields that vary. If
  // `room` is null, each sample gets as much as the longest. `layout` and
  // `room` outlive this object.
  InFlightBatches(const BatchOptions& batch, std::uint64_t seed,
                  std::uint64_t dataset_size,
                  const BatchLayout* layout = nullptr,
                  const SampleRoom* room = nullptr);

  // Begins the batch of `key`, which has `samples` samples (at least 1). `slot`
  // was taken for it, and `host` is that slot's host part. The batch is booked
  // to `payer`, until the caller adds other payers.
  Batch* Begin(const BatchKey& key, std::uint64_t samples,
               std::shared_ptr<const EpochPair> epochs, slots::MemberId payer,
               std::uint32_t slot, std::uint8_t* host);

  // Returns the batch of that key; null if it is not in flight.
  const Batch* Find(const BatchKey& key) const;
  bool empty() const { return batches_.empty(); }
  // Whether there are batches, and all of them hang in reads (Batch::HangsAt).
  bool Hangs(std::int64_t now_nanos) const;
  // Returns how many batches are being made for the member, abandoned ones
  // included.
  std::uint32_t CountPaidBy(slots::MemberId payer) const;

  const std::deque<std::unique_ptr<Batch>>& batches() const { return batches_; }

  // Returns how many batches are being copied to GPUs.
  std::uint32_t Copying() const;
  // Returns how many samples were not handed out.
  std::size_t waiting() const;
  // Hands out the sample to be read next; null if there is none. If `capped` is
  // false, passes over batches that only jobs with caps want. PutBack takes
  // back a sample that Next has returned.
  PendingSample* Next(bool capped);
  void PutBack(PendingSample* pending);
  // Replaces a failed sample by another sample of the dataset, which Next then
  // hands out. Returns false, and replaces nothing, if the stream does not
  // substitute samples, or `status` does not say that the sample's bytes are
  // corrupt.
  bool Substitute(PendingSample& pending, const absl::Status& status);
  // Makes Next hand out a lost sample once more. Returns false if its batch is
  // abandoned.
  bool ReadAgain(PendingSample& pending);
  // Books that a sample that was handed out is finished, well or with an error.
  // Returns the sample's batch if the batch is now complete; otherwise null. A
  // batch has the status of the failed sample with the lowest row.
  Batch* Finish(const PendingSample& pending, const absl::Status& status,
                slots::SlotPool& pool);
  // Books the end of a copy of a complete batch. Returns false if the batch was
  // abandoned.
  bool FinishCopy(Batch* batch, slots::SlotPool& pool);
  // Tells that the slots' parts on a GPU are gone: no batch counts as copied
  // there any more.
  void ForgetCopiesOn(const device::Device* device);
  // Removes a complete batch that is not being copied.
  std::unique_ptr<Batch> Remove(const Batch* batch);

  // Ends a member's payment: each of its batches goes to the member that `heir`
  // returns, or is abandoned.
  void Retire(
      slots::MemberId payer,
      const std::function<std::optional<slots::MemberId>(const BatchKey&)>&
          heir,
      slots::SlotPool& pool);

 private:
  // Drops the batch's samples that were not handed out. Keeps the batch until
  // its other samples are finished.
  void Abandon(std::unique_ptr<Batch> batch, slots::SlotPool& pool);
  // Computes where each sample begins in the fields that vary.
  void GiveRoom(Batch& batch) const;
  // Frees the slot of an abandoned batch if nothing writes or reads it any
  // more.
  void EndIfIdle(const Batch* abandoned, slots::SlotPool& pool);

  const BatchOptions batch_;
  const std::uint64_t seed_;
  const std::uint64_t dataset_size_;
  const BatchLayout* const layout_;
  const SampleRoom* const room_;

  std::deque<std::unique_ptr<Batch>> batches_;
  // Samples that PutBack and ReadAgain returned, to be handed out first.
  std::deque<PendingSample*> put_back_;
  // Abandoned batches with samples or copies to finish.
  std::vector<std::unique_ptr<Batch>> abandoned_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_IN_FLIGHT_BATCHES_H_
