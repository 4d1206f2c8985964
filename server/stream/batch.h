#ifndef FOREBAY_SERVER_STREAM_BATCH_H_
#define FOREBAY_SERVER_STREAM_BATCH_H_

#include <atomic>
#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/base/memory_budget.h"
#include "server/device/device.h"
#include "server/schedule/flow.h"
#include "server/slots/slot_pool.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch_layout.h"
#include "server/stream/epoch_pair.h"
#include "server/stream/staging_pool.h"

namespace forebay::stream {

struct Batch;

// A sample of a batch in flight.
struct PendingSample {
  Batch* batch = nullptr;
  // The row of the sample in its batch.
  std::uint32_t index = 0;
  // The number of corrupt samples that were replaced before this one took the
  // row.
  std::uint32_t substitutions = 0;
  // The sample's number in the dataset.
  std::uint64_t id = 0;
  // The number of earlier occurrences of the sample in the epoch.
  std::uint64_t repeat = 0;
  // The bytes that are to be read for the sample; 0 until it is requested.
  std::uint64_t length = 0;
  // The bytes that the sample occupies while it is read and decoded.
  std::uint64_t held = 0;
  // The variant and the file revision that were read.
  storage::Variant variant = storage::kEncoded;
  storage::Revision revision = {};
  // The reservation of the sample's bytes, if they do not count in the read
  // window.
  base::MemoryReservation own;
  // The number of workers that died while they made the sample.
  std::uint32_t deaths = 0;
  // The number of workers that ended before they began the sample.
  std::uint32_t untaken = 0;
  // The number of workers that were killed while they had the sample, because a
  // signal had stopped them.
  std::uint32_t stops = 0;
  // The number of workers that were ended while they made the sample, because
  // all workers together had too much memory.
  std::uint32_t short_of_memory = 0;
  // Whether the sample was taken away from a worker that slept.
  bool has_retried = false;
  // Whether the sample's read is in flight.
  bool reading = false;
  // Whether caps may hold up the sample's read.
  bool capped = false;

  // Whether the sample was lost with a worker that died or slept for too long.
  bool was_lost() const { return has_retried || deaths + short_of_memory > 0; }
};

// The choices of a loader that decide how samples make batches.
struct BatchOptions {
  // The number of samples of a full batch; at least 1.
  std::uint32_t size = 0;
  // Whether an epoch's last batch is left out if it has fewer samples.
  bool drop_last = false;
  // Whether a corrupt sample is replaced by another.
  bool substitute = false;
  // Whether the lengths of samples decide how many make a batch, up to `size`.
  bool by_length = false;
};

// The identity of a batch in a stream: batches with equal keys have equal
// bytes.
struct BatchKey {
  std::uint64_t epoch = 0;
  // The position in the epoch of the batch's first sample.
  std::uint64_t first_sample = 0;

  auto operator<=>(const BatchKey&) const = default;
};

// The number of samples before a batch, counted over all epochs. The product of
// an epoch's number and its samples may need more than 64 bits.
using Position = unsigned __int128;

// A copy of a batch on a GPU.
struct BatchCopy {
  // The GPU; null once the copy's memory is gone.
  const device::Device* device = nullptr;
  // The copy's result, valid once the copy is done.
  absl::Status status;
};

// A batch in flight. Its samples are made first. Then the batch is copied to
// the GPUs of the members, if there are any.
//
// The stream's mutex guards the batch, but neither the slot's memory nor
// samples that were handed out. A sample that was handed out belongs to the
// read or task that has it, and so does the sample's part of the memory.
struct Batch {
  BatchKey key;
  std::shared_ptr<const EpochPair> epochs;
  // The member that the batch is made for.
  slots::MemberId payer = 0;
  // The members to whose accounts the work for the batch is booked.
  std::vector<slots::MemberId> payers;
  // The flows that pay for the batch.
  std::vector<schedule::Flow> charged;
  // Whether all members that will read the batch have caps. Only then do caps
  // hold the batch up.
  bool capped = false;
  std::uint32_t slot = 0;
  BatchMemory memory;
  // The array that `memory.starts` refers to.
  std::vector<std::uint64_t> starts;
  // The staging memory in which the device part is made.
  StagingPool::Lease staging;
  // The copies of the device part to GPUs.
  std::vector<BatchCopy> copies;
  // The number of copies that are not done.
  std::uint32_t copying = 0;
  // The bytes of data, once the batch is complete.
  std::uint64_t bytes = 0;
  // The samples by row. Never resized, because reads and tasks point to them.
  std::vector<PendingSample> samples;
  // The number of samples that were handed out to be read.
  std::uint32_t handed_out = 0;
  // The number of samples that are not finished.
  std::uint32_t remaining = 0;
  // The number of unfinished samples whose reads have ended.
  std::uint32_t to_decode = 0;
  // The time at which the first sample was requested.
  std::int64_t asked_at_nanos = 0;
  // The time at which the batch began or last made progress: a sample was
  // requested or finished, or a copy ended.
  std::int64_t moved_at_nanos = 0;
  // The error of the failed sample with the lowest row.
  absl::Status status;
  // The row of the failed sample whose error is in `status`.
  std::uint32_t failed_place = 0;
  // Set when no member wants the batch any more. Tasks then skip their work.
  std::atomic<bool> abandoned = false;

  // Whether the batch only waits for reads, and has made no progress for over
  // 100 ms.
  bool HangsAt(std::int64_t now_nanos) const {
    constexpr std::int64_t kLongNanos = 100'000'000;
    return to_decode == 0 && copying == 0 &&
           now_nanos - moved_at_nanos > kLongNanos;
  }
};

// Returns the member to whose account the sample is booked. Samples are dealt
// to `payers` in turn, by their positions in the epoch.
inline slots::MemberId PayerOf(const PendingSample& pending) {
  const std::vector<slots::MemberId>& payers = pending.batch->payers;
  return payers[(pending.batch->key.first_sample + pending.index) %
                payers.size()];
}

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_H_
