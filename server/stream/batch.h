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
#include "server/schedule/flow.h"
#include "server/storage/byte_source.h"
#include "server/stream/epoch_pair.h"

namespace forebay::stream {

struct Batch;

// One sample's place in a batch in the making.
struct PendingSample {
  Batch* batch = nullptr;
  std::uint32_t index = 0;
  std::uint32_t substitutions = 0;
  std::uint64_t id = 0;
  std::uint64_t repeat = 0;  // how often the epoch had the sample before
  // What the dataset says of the sample, once it is asked for.
  std::uint64_t length = 0;  // bytes to be read
  std::uint64_t held = 0;    // bytes, while it is read and decoded
  // What its bytes are in, once they are there, and of which file they are.
  storage::Variant variant = storage::kEncoded;
  storage::Revision revision = {};
  base::MemoryReservation own;  // for them, where not in the read window
  bool reading = false;         // its bytes are on their way
  bool capped = false;  // its bytes count among those that caps may hold up
};

// Which batch of a stream it is: two of one key have the same bytes.
struct BatchKey {
  std::uint64_t epoch = 0;
  std::uint64_t first_sample = 0;  // its position in the epoch

  auto operator<=>(const BatchKey&) const = default;
};

// Where a batch begins in the sequence of all epochs, in samples: more than 64
// bits count.
using Position = unsigned __int128;

// A batch in the making. The stream guards it, but for the slot's memory and
// the samples: a place that was handed out, and its part of the memory,
// belong to the one read or task that it was handed to.
struct Batch {
  BatchKey key;
  std::shared_ptr<const EpochPair> epochs;  // of its epoch
  arena::MemberId sponsor = 0;              // the member for whom it is made
  std::vector<arena::MemberId> payers;      // and all that it is booked to
  std::vector<schedule::Flow> charged;      // whom its reads and tasks are
  // Whether all that come to it have caps, which then hold it up.
  bool capped = false;
  std::uint32_t slot = 0;
  std::uint8_t* data = nullptr;        // the slot's memory
  std::vector<PendingSample> samples;  // never resized
  std::uint32_t handed_out = 0;        // samples before it have been asked for
  std::uint32_t remaining = 0;         // samples that are not done
  std::uint32_t to_decode = 0;         // of these, those that have been read
  std::int64_t asked_at_nanos = 0;     // when its first place was
  std::int64_t moved_at_nanos = 0;     // when one was asked for or done last
  absl::Status status;                 // of the first place that failed
  std::uint32_t failed_place = 0;
  // Set when nobody wants the batch any more: tasks then skip their work.
  std::atomic<bool> abandoned = false;

  // Whether all that is left of it waits for reads, and has done so for long.
  bool HangsAt(std::int64_t now_nanos) const {
    constexpr std::int64_t kLongNanos = 100'000'000;
    return to_decode == 0 && now_nanos - moved_at_nanos > kLongNanos;
  }
};

// To whom of the payers the place is booked: to all of them alike.
inline arena::MemberId PayerOf(const PendingSample& pending) {
  const std::vector<arena::MemberId>& payers = pending.batch->payers;
  return payers[(pending.batch->key.first_sample + pending.index) %
                payers.size()];
}

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BATCH_H_
