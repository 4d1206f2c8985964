#ifndef FOREBAY_SERVER_STREAM_READ_BUDGET_H_
#define FOREBAY_SERVER_STREAM_READ_BUDGET_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "server/base/memory_budget.h"

namespace forebay::stream {

// The memory for a stream's bytes in flight. A least part stays reserved until
// Close. When the window grows, more is reserved if the budget has enough to
// spare. When the window shrinks, memory is given back as soon as the bytes in
// flight fit into less.
//
// Not thread-safe: the stream guards it. The budget outlives it. Owns its
// reservation. Never blocks. Errors: Open.
class ReadBudget {
 public:
  ReadBudget(base::MemoryBudget* budget, base::MemoryReservation least)
      : budget_(budget),
        least_(least.bytes()),
        window_(least.bytes()),
        reserved_(std::move(least)) {}

  std::uint64_t least() const { return least_; }
  // Returns the number of bytes that may be in flight.
  std::uint64_t window() const { return window_; }
  std::uint64_t in_flight() const { return in_flight_; }

  // Sets the window to `bytes`, but at least to the least part. Returns false,
  // and changes nothing, if there is no memory for more.
  bool Resize(std::uint64_t bytes);

  // Gives back the least part too, once no bytes are in flight. No bytes may
  // enter until Open.
  void Close();
  // Reserves the least part again. RESOURCE_EXHAUSTED: the budget has no room.
  absl::Status Open();

  // Counts bytes as in flight.
  void Enter(std::uint64_t bytes) { in_flight_ += bytes; }
  // Ends the flight of bytes that Enter has counted.
  void Leave(std::uint64_t bytes);

 private:
  // Gives back what neither the window nor the bytes in flight need.
  void GiveBack();

  base::MemoryBudget* const budget_;
  const std::uint64_t least_;
  std::uint64_t window_;
  std::uint64_t in_flight_ = 0;
  bool closed_ = false;
  // The reserved memory, which is larger than the window while the window
  // shrinks.
  base::MemoryReservation reserved_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_BUDGET_H_
