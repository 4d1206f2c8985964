#ifndef FOREBAY_SERVER_STREAM_READ_BUDGET_H_
#define FOREBAY_SERVER_STREAM_READ_BUDGET_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "server/base/memory_budget.h"

namespace forebay::stream {

// The memory for a stream's bytes in flight. Its least part stays reserved
// until Close. More is reserved when it grows, if the budget has enough to
// spare, and given back when it shrinks, as soon as the bytes in flight fit
// into less.
//
// Not thread-safe: the stream guards it. The budget outlives it. Never blocks.
// Errors: Open.
class ReadBudget {
 public:
  ReadBudget(base::MemoryBudget* budget, base::MemoryReservation least)
      : budget_(budget),
        least_(least.bytes()),
        window_(least.bytes()),
        reserved_(std::move(least)) {}

  std::uint64_t least() const { return least_; }
  // Bytes that may be in flight.
  std::uint64_t window() const { return window_; }
  std::uint64_t in_flight() const { return in_flight_; }

  // Makes room for so many bytes, at least for the least. Returns false, and
  // changes nothing, if there is no memory for more.
  bool Resize(std::uint64_t bytes);

  // Gives back the least part too, once the bytes in flight have left. Nothing
  // may enter until Open.
  void Close();
  // Reserves the least part again. RESOURCE_EXHAUSTED.
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

#endif  // FOREBAY_SERVER_STREAM_READ_BUDGET_H_
