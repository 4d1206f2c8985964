#ifndef FOREBAY_SERVER_STREAM_PREFETCHER_H_
#define FOREBAY_SERVER_STREAM_PREFETCHER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "server/arena/slot_pool.h"
#include "server/base/memory_budget.h"
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
// hold up get at most half as much room, in memory of their own where the
// budget has some to spare, so that other samples can overtake them.
//
// Not thread-safe: the stream guards it. Spec and budget outlive it. Owns
// the memory for bytes in flight. Never blocks. Errors: Open.
class Prefetcher {
 public:
  struct Read {
    PendingSample* pending;
    storage::ReadRequest request;  // lacks its `done`
  };
  // Finds a member. Returns null if it has left; the sponsor of a batch never
  // has.
  using Members = std::function<const Member*(arena::MemberId)>;

  // `variant` is the preferred variant of samples.
  Prefetcher(const StreamSpec* spec, storage::Variant variant,
             base::MemoryBudget* budget, base::MemoryReservation read_window);

  void StartEpoch() { window_.StartEpoch(); }

  // Whether there is room enough to request more.
  bool HasRoom() const;
  // Call Ask, then Next until it returns nullopt: each result is a read that
  // there is room for.
  void Ask(std::int64_t now_nanos);
  std::optional<Read> Next(InFlightBatches& in_flight, const Members& members);

  // The same read once more, for other members. Needs no room of its own.
  std::optional<storage::ReadRequest> RequestAgain(
      const PendingSample& pending, const Member& sponsor) const {
    return request_builder_.RequestAgain(pending, sponsor);
  }

  // The sample's read has ended, well or not.
  void Arrived(PendingSample& pending);
  // The sample's bytes are not needed any more.
  void Leave(PendingSample& pending);
  // Gives back memory while nothing is in flight.
  void Rest();
  // Gives back the read window, until Open.
  void Close() { read_budget_.Close(); }
  // RESOURCE_EXHAUSTED: there is no memory for the read window.
  absl::Status Open() { return read_budget_.Open(); }

  std::uint32_t reads_in_flight() const { return reads_in_flight_; }
  PrefetchSnapshot Snapshot() const;

 private:
  std::uint64_t Window() const;
  void Asked(bool full);
  // Whether the samples that caps may hold up fill their part of the window.
  bool IsFullOfCapped(const PendingSample& pending) const;

  ReadRequestBuilder request_builder_;
  base::MemoryBudget* const budget_;
  ReadWindow window_;
  ReadBudget read_budget_;
  std::uint32_t reads_in_flight_ = 0;
  std::uint64_t own_ = 0;      // bytes in flight that are not in the window
  std::uint64_t reading_ = 0;  // bytes being read
  std::uint64_t capped_ = 0;   // bytes in flight that caps may hold up
  bool capped_too_ = true;     // whether to request more of those just now
  std::uint64_t arrived_ = 0;  // in all
  std::int64_t asked_at_nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_PREFETCHER_H_
