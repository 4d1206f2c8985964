#ifndef FOREBAY_SERVER_STREAM_READ_ROOM_H_
#define FOREBAY_SERVER_STREAM_READ_ROOM_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "server/base/memory_budget.h"

namespace forebay::stream {

// The memory for a stream's bytes in flight. Its least part is there until it
// is closed. What goes beyond is taken from the budget when it grows, if there
// is enough to spare, and given back when it shrinks, as soon as the bytes that
// are in flight do without.
//
// Not thread-safe: the stream guards it. The budget outlives it. Never blocks.
// Errors: Open.
class ReadRoom {
 public:
  ReadRoom(base::MemoryBudget* budget, base::MemoryReservation least)
      : budget_(budget),
        least_(least.bytes()),
        window_(least.bytes()),
        reserved_(std::move(least)) {}

  std::uint64_t least() const { return least_; }
  // Bytes that may be in flight.
  std::uint64_t window() const { return window_; }
  std::uint64_t in_flight() const { return in_flight_; }

  // Makes room for so many bytes, but at least for the least. False: there is
  // no memory for more, and all stays as it is.
  bool Resize(std::uint64_t bytes);

  // Nothing more comes in: gives back the least part too, once what is in
  // flight does without.
  void Close();
  // Something may come in again. RESOURCE_EXHAUSTED: the least part is taken.
  absl::Status Open();

  void Enter(std::uint64_t bytes) { in_flight_ += bytes; }
  void Leave(std::uint64_t bytes);

 private:
  void GiveBack();

  base::MemoryBudget* const budget_;
  const std::uint64_t least_;
  std::uint64_t window_;
  std::uint64_t in_flight_ = 0;
  bool closed_ = false;
  base::MemoryReservation reserved_;  // more than the window while it shrinks
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_ROOM_H_
