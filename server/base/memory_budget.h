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

// A part of a budget, given back on destruction. Not thread-safe; the budget
// must outlive it.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryReservation& operator=(MemoryReservation&& other) noexcept;
  ~MemoryReservation() { Release(); }

  std::uint64_t bytes() const { return bytes_; }
  void Release();
  // Adds another reservation of the same budget.
  void Add(MemoryReservation other);
  // Gives back all but `bytes`. It has at least as many.
  void ShrinkTo(std::uint64_t bytes);
  // Moves `bytes` into a new reservation. It has at least as many.
  MemoryReservation Split(std::uint64_t bytes);

 private:
  friend class MemoryBudget;
  MemoryReservation(MemoryBudget* budget, std::uint64_t bytes)
      : budget_(budget), bytes_(bytes) {}

  MemoryBudget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// The limit of the daemon's memory. Code that takes memory that grows with use
// reserves it first; a reservation that would pass the limit is refused.
// Thread-safe; never blocks, but for `on_shortage`; the caller owns it.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit) : limit_(limit) {}

  // RESOURCE_EXHAUSTED, with `what` and the sizes: the limit would be passed.
  absl::StatusOr<MemoryReservation> Reserve(std::uint64_t bytes,
                                            std::string_view what);
  // Adds `bytes` to a reservation of this budget, or an empty one. Errors are
  // Reserve's; the reservation stays as it was then.
  absl::Status Extend(MemoryReservation* reservation, std::uint64_t bytes,
                      std::string_view what);
  // Reserves memory that the caller can do without. Returns nullopt unless as
  // much is left after it.
  std::optional<MemoryReservation> ReserveSpare(std::uint64_t bytes);

  // Is called before a reservation is refused, which is then tried again: it
  // gives back what its owner can do without. It must not reserve. There is one
  // at most; null: none. Returns when a former one is not called any more.
  void set_on_shortage(std::function<void()> on_shortage);

  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const;

 private:
  friend class MemoryReservation;
  absl::Status TryExtend(MemoryReservation* reservation, std::uint64_t bytes,
                         std::string_view what);
  std::optional<MemoryReservation> TryReserveSpare(std::uint64_t bytes);
  // Returns whether there is something that may have given back some.
  bool CallOnShortage();
  void GiveBack(std::uint64_t bytes);

  const std::uint64_t limit_;
  Mutex shortage_;  // held while `on_shortage_` is called; before `mutex_`
  std::function<void()> on_shortage_ ABSL_GUARDED_BY(shortage_);
  mutable Mutex mutex_;
  std::uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_MEMORY_BUDGET_H_
