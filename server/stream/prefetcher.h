#ifndef FOREBAY_SERVER_STREAM_PREFETCHER_H_
#define FOREBAY_SERVER_STREAM_PREFETCHER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "server/base/memory_budget.h"
#include "server/slots/slot_pool.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/in_flight_batches.h"
#include "server/stream/member.h"
#include "server/stream/read_budget.h"
#include "server/stream/read_request_builder.h"
#include "server/stream/read_window.h"
#include "server/stream/stream_snapshot.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// Requests the samples of the batches in flight, in order, while the read
// window (ReadWindow) and the memory budget have room. Samples that caps may
// hold up get at most half of the window, so that other samples can overtake
// them. If the budget has memory to spare, such samples get memory of their
// own, outside of the window.
//
// Not thread-safe: the stream guards it. Spec and budget outlive it. Owns the
// memory for bytes in flight. Never blocks. Errors: Open.
class Prefetcher {
 public:
  // A read to be made.
  struct Read {
    PendingSample* pending;
    // The request, in which only `done` is not set yet.
    storage::ReadRequest request;
  };
  // Returns the member of that number; null if it has left. Batch::payer is
  // always a member that has not left.
  using Members = std::function<const Member*(slots::MemberId)>;

  // `variant` is the variant that reads prefer. `read_window` is the least
  // memory for bytes in flight.
  Prefetcher(const StreamSpec* spec, storage::Variant variant,
             base::MemoryBudget* budget, base::MemoryReservation read_window);

  void StartEpoch() { window_.StartEpoch(); }

  // Whether there is room enough to request more.
  bool HasRoom() const;
  // Begins to ask for reads. The caller then calls Next until it returns
  // nullopt; each result is a read for which there is room.
  void Ask(std::int64_t now_nanos);
  std::optional<Read> Next(InFlightBatches& in_flight, const Members& members);

  // Returns the request of a sample in flight once more, for other members. The
  // second read takes no room in the window.
  std::optional<storage::ReadRequest> RequestAgain(const PendingSample& pending,
                                                   const Member& payer) const {
    return request_builder_.RequestAgain(pending, payer);
  }

  // Tells that the sample's read has ended, well or with an error.
  void Arrived(PendingSample& pending);
  // Tells that the sample's bytes are not needed any more.
  void Leave(PendingSample& pending);
  // Shrinks the window to the least memory if nothing is in flight.
  void ReleaseIdleMemory();
  // Gives back all memory for reads, until Open.
  void Close() { read_budget_.Close(); }
  // Reserves the least memory again. RESOURCE_EXHAUSTED: the budget has no
  // room.
  absl::Status Open() { return read_budget_.Open(); }

  std::uint32_t reads_in_flight() const { return reads_in_flight_; }
  PrefetchSnapshot Snapshot() const;

 private:
  // Returns how many bytes may be in flight in the window.
  std::uint64_t WindowBytes() const;
  // Ends a series of Next calls. `full` says whether the window had no room for
  // a sample.
  void Asked(bool full);
  // Whether `pending` has no room in the part of the window for samples that
  // caps may hold up.
  bool IsFullOfCapped(const PendingSample& pending) const;

  ReadRequestBuilder request_builder_;
  base::MemoryBudget* const budget_;
  ReadWindow window_;
  ReadBudget read_budget_;
  std::uint32_t reads_in_flight_ = 0;
  // Bytes in flight that are in memory of their own, not in the window.
  std::uint64_t own_ = 0;
  // Bytes that are being read.
  std::uint64_t reading_ = 0;
  // Bytes in flight that caps may hold up.
  std::uint64_t capped_ = 0;
  // Whether this series of Next calls may still request samples that caps may
  // hold up.
  bool capped_too_ = true;
  // The number of bytes that have arrived in all.
  std::uint64_t arrived_ = 0;
  std::int64_t asked_at_nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PREFETCHER_H_
