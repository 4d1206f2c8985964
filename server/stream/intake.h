#ifndef FOREBAY_SERVER_STREAM_INTAKE_H_
#define FOREBAY_SERVER_STREAM_INTAKE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "server/arena/slot_pool.h"
#include "server/base/memory_budget.h"
#include "server/storage/byte_source.h"
#include "server/stream/batch.h"
#include "server/stream/member.h"
#include "server/stream/production_line.h"
#include "server/stream/read_room.h"
#include "server/stream/read_window.h"
#include "server/stream/recipe.h"
#include "server/stream/requester.h"

namespace forebay::stream {

// What of a stream is on its way to be made.
struct IntakeSnapshot {
  std::uint64_t window = 0;  // bytes that may be in flight
  std::uint32_t reads_in_flight = 0;
  std::uint64_t bytes_in_flight = 0;  // until they are decoded
};

// How much a stream takes in: it asks for the samples of the batches in the
// making, in order, as long as the read window (ReadWindow) has room, and the
// memory budget room for that. What caps may hold up has no more than half as
// much, in memory of its own where there is some to spare, so that the rest
// goes past that.
//
// Not thread-safe: the stream guards it. Recipe and budget outlive it. Owns the
// memory for bytes in flight. Never blocks. Errors: Open.
class Intake {
 public:
  struct Read {
    Place* place;
    storage::ReadRequest request;  // lacks its `done`
  };
  // Finds a member, null if it is gone: no batch's sponsor is.
  using Members = std::function<const Member*(arena::Holder)>;

  // `form`: what samples are preferred in.
  Intake(const Recipe* recipe, storage::Form form, base::MemoryBudget* budget,
         base::MemoryReservation read_window);

  void StartEpoch() { window_.StartEpoch(); }

  // Whether there is so much room that it should be asked for more.
  bool HasRoom() const;
  // The reads that there is room for: Ask, then Next until there is none.
  void Ask(std::int64_t now_nanos);
  std::optional<Read> Next(ProductionLine& line, const Members& members);

  // The same read once more, for whom else it is: needs no room of its own.
  std::optional<storage::ReadRequest> RequestAgain(
      const Place& place, const Member& sponsor) const {
    return requester_.RequestAgain(place, sponsor);
  }

  // A place's bytes have come, or will not.
  void Arrived(Place& place);
  // They are needed no longer.
  void Leave(Place& place);
  // Gives back what memory it can while nothing is in flight.
  void Rest();
  // No epoch is expected any more: gives back the read window, until Open.
  void Close() { room_.Close(); }
  // RESOURCE_EXHAUSTED: no memory for the read window.
  absl::Status Open() { return room_.Open(); }

  std::uint32_t reads_in_flight() const { return reads_in_flight_; }
  IntakeSnapshot Snapshot() const;

 private:
  std::uint64_t Window() const;
  void Asked(bool full);
  // Whether what caps may hold up has all that it may.
  bool IsFullOfCapped(const Place& place) const;

  Requester requester_;
  base::MemoryBudget* const budget_;
  ReadWindow window_;
  ReadRoom room_;
  std::uint32_t reads_in_flight_ = 0;
  std::uint64_t own_ = 0;      // bytes in flight that are not in the window
  std::uint64_t reading_ = 0;  // bytes on their way
  std::uint64_t capped_ = 0;   // bytes in flight that caps may hold up
  bool capped_too_ = true;     // whether more of those are asked for just now
  std::uint64_t arrived_ = 0;  // and that have come, ever
  std::int64_t asked_at_nanos_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_INTAKE_H_
