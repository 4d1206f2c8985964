#ifndef FOREBAY_SERVER_STREAM_BATCH_H_
#define FOREBAY_SERVER_STREAM_BATCH_H_

#include <atomic>
#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/arena/slot_pool.h"
#include "server/base/memory_budget.h"
#include "server/device/device.h"
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch_layout.h"
#include "server/stream/epoch_pair.h"
#include "server/stream/staging_pool.h"

namespace forebay::stream {

struct Batch;

// One sample of a batch in flight.
struct PendingSample {
  Batch* batch = nullptr;
  std::uint32_t index = 0;
  std::uint32_t substitutions = 0;
  std::uint64_t id = 0;
  std::uint64_t repeat = 0;  // earlier occurrences in the epoch
  // Known once the sample is requested.
  std::uint64_t length = 0;  // bytes to be read
  std::uint64_t held = 0;    // bytes, while it is read and decoded
  // The variant and the file revision that were read, once they were.
  storage::Variant variant = storage::kEncoded;
  storage::Revision revision = {};
  base::MemoryReservation own;  // for the bytes, unless in the read window
  std::uint32_t deaths = 0;     // of producers that made it
  // Producers that ended before they took it, or that a signal had stopped.
  std::uint32_t untaken = 0;
  std::uint32_t stops = 0;
  // How often one was ended because all together had too much memory.
  std::uint32_t short_of_memory = 0;
  // Whether it was taken from a producer that slept.
  bool has_retried = false;
  bool reading = false;  // its read is in flight
  bool capped = false;   // caps may hold up its read

  // Whether a producer that made it has ended, or slept for too long.
  bool was_lost() const { return has_retried || deaths + short_of_memory > 0; }
};

// The choices of a loader that decide how samples make batches.
struct BatchOptions {
  std::uint32_t size = 0;   // samples; at least 1
  bool drop_last = false;   // leaves out a last, smaller batch
  bool substitute = false;  // replaces a corrupt sample by another
  // Whether lengths decide how many samples make a batch: `size` at most.
  bool by_length = false;
};

// Identifies a batch of a stream: batches of one key have the same bytes.
struct BatchKey {
  std::uint64_t epoch = 0;
  std::uint64_t first_sample = 0;  // its position in the epoch

  auto operator<=>(const BatchKey&) const = default;
};

// Where a batch begins in the sequence of all epochs, in samples. 64 bits are
// too few.
using Position = unsigned __int128;

// A copy of a batch on a GPU: its status counts once it is done.
struct BatchCopy {
  const device::Device* device = nullptr;  // null: its memory is gone
  absl::Status status;
};

// A batch in flight: its samples are made, and then it is copied to the GPUs of
// its members, if it has any. The stream guards it, but for the slot's memory
// and the samples. A sample that was handed out, and its part of the memory,
// belong to the one read or task that it was handed to.
struct Batch {
  BatchKey key;
  std::shared_ptr<const EpochPair> epochs;
  arena::MemberId sponsor = 0;          // the member that it is made for
  std::vector<arena::MemberId> payers;  // all members that it is booked to
  std::vector<schedule::Flow> charged;  // the flows that pay for it
  // Whether all members that come to it have caps, which then hold it up.
  bool capped = false;
  std::uint32_t slot = 0;
  BatchMemory memory;
  std::vector<std::uint64_t> starts;   // the memory's
  StagingPool::Lease staging;          // its device part
  std::vector<BatchCopy> copies;       // of that, to GPUs
  std::uint32_t copying = 0;           // of these, that are not done
  std::uint64_t bytes = 0;             // of data, once it is complete
  std::vector<PendingSample> samples;  // never resized
  std::uint32_t handed_out = 0;        // samples that were requested
  std::uint32_t remaining = 0;         // samples that are not finished
  std::uint32_t to_decode = 0;         // of these, samples that were read
  std::int64_t asked_at_nanos = 0;     // for the first sample
  std::int64_t moved_at_nanos = 0;     // last request or finish
  absl::Status status;                 // of the first sample that failed
  std::uint32_t failed_place = 0;
  // Set when no member wants the batch any more: tasks then skip their work.
  std::atomic<bool> abandoned = false;

  // Whether all that is left of the batch has waited for reads for long.
  bool HangsAt(std::int64_t now_nanos) const {
    constexpr std::int64_t kLongNanos = 100'000'000;
    return to_decode == 0 && copying == 0 &&
           now_nanos - moved_at_nanos > kLongNanos;
  }
};

// The payer that the sample is booked to: samples are dealt to payers in turn.
inline arena::MemberId PayerOf(const PendingSample& pending) {
  const std::vector<arena::MemberId>& payers = pending.batch->payers;
  return payers[(pending.batch->key.first_sample + pending.index) %
                payers.size()];
}

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_H_
