#ifndef FOREBAY_SERVER_BASE_MEMORY_BUDGET_H_
#define FOREBAY_SERVER_BASE_MEMORY_BUDGET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/mutex.h"

namespace forebay::base {

class MemoryBudget;

// Bytes reserved from a MemoryBudget. The destructor gives them back. Not
// thread-safe. The owner of the memory owns the reservation, and the budget
// outlives both. Never blocks. There are no errors.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryReservation& operator=(MemoryReservation&& other) noexcept;
  ~MemoryReservation() { Release(); }

  std::uint64_t bytes() const { return bytes_; }
  // Gives back all bytes now.
  void Release();
  // Takes over the bytes of `other`, which belongs to the same budget or is
  // empty.
  void Add(MemoryReservation other);
  // Gives back all but `bytes` bytes; `bytes` is at most bytes().
  void ShrinkTo(std::uint64_t bytes);
  // Moves `bytes` bytes, at most bytes(), into a new reservation.
  MemoryReservation Split(std::uint64_t bytes);

 private:
  friend class MemoryBudget;
  MemoryReservation(MemoryBudget* budget, std::uint64_t bytes)
      : budget_(budget), bytes_(bytes) {}

  MemoryBudget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// The limit of the daemon's memory, and how much of it is reserved. Code whose
// memory grows with use reserves the memory before allocating it.
//
// Thread-safe. The caller owns the budget, which outlives its reservations.
// Never blocks, except while `on_shortage` runs. A reservation that would pass
// the limit is refused with RESOURCE_EXHAUSTED.
class MemoryBudget {
 public:
  // Bounds the sum of all reservations to `limit` bytes.
  explicit MemoryBudget(std::uint64_t limit) : limit_(limit) {}

  // Reserves `bytes`. RESOURCE_EXHAUSTED: the limit would be passed; the
  // message says `what` the memory is for, and gives the sizes in MiB.
  absl::StatusOr<MemoryReservation> Reserve(std::uint64_t bytes,
                                            std::string_view what);
  // Adds `bytes` to a reservation of this budget, or to an empty one. Errors
  // are those of Reserve, and leave the reservation as it was.
  absl::Status Extend(MemoryReservation* reservation, std::uint64_t bytes,
                      std::string_view what);
  // Reserves `bytes` that the caller can do without. Returns nullopt if fewer
  // than `bytes` would remain unreserved afterwards, so that callers that need
  // memory still find some.
  std::optional<MemoryReservation> ReserveSpare(std::uint64_t bytes);

  // Sets the callback that runs before a reservation is refused, in place of
  // the former callback. If `on_shortage` is null, no callback runs. The
  // callback gives back memory that can be spared, and must not reserve memory.
  // After it has run, the reservation is tried once more. Blocks until a call
  // of the former callback has returned.
  void set_on_shortage(std::function<void()> on_shortage);

  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const;

 private:
  friend class MemoryReservation;
  absl::Status TryExtend(MemoryReservation* reservation, std::uint64_t bytes,
                         std::string_view what);
  std::optional<MemoryReservation> TryReserveSpare(std::uint64_t bytes);
  // Calls `on_shortage_`. Returns false if none is set.
  bool CallOnShortage();
  // Subtracts the bytes of a reservation that ends.
  void GiveBack(std::uint64_t bytes);

  const std::uint64_t limit_;
  Mutex shortage_;  // held while `on_shortage_` runs; locked before `mutex_`
  std::function<void()> on_shortage_ ABSL_GUARDED_BY(shortage_);
  mutable Mutex mutex_;
  std::uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_MEMORY_BUDGET_H_
