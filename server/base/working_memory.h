#ifndef FOREBAY_SERVER_BASE_WORKING_MEMORY_H_
#define FOREBAY_SERVER_BASE_WORKING_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"

namespace forebay::base {

// Counts the memory of a task, such as a scan, that learns how much memory it
// needs only while it runs. Memory is reserved in steps, each before it is
// allocated. Keep gives the work's result a reservation of its own.
//
// Destruction has malloc return freed memory to the system, then gives back the
// rest of the reservation. Declare a WorkingMemory before the objects that it
// counts, so that the objects are destroyed first.
//
// Thread-safe, except for destruction. The caller owns it, and the budget
// outlives it. Never blocks. RESOURCE_EXHAUSTED: the budget has no room.
class WorkingMemory {
 public:
  // Messages of errors say that the memory is for `what`.
  WorkingMemory(MemoryBudget* budget, std::string what)
      : budget_(budget), what_(std::move(what)) {}
  ~WorkingMemory();
  WorkingMemory(const WorkingMemory&) = delete;
  WorkingMemory& operator=(const WorkingMemory&) = delete;

  // Counts `bytes` more, which the caller is about to allocate.
  // RESOURCE_EXHAUSTED: the budget's limit would be passed.
  absl::Status Grow(std::uint64_t bytes);
  // Counts `bytes` less, which the caller has freed. They stay reserved for the
  // next Grow.
  void Shrink(std::uint64_t bytes);
  // Returns a reservation of `bytes` for the work's result, and stops counting
  // these bytes here. Errors are those of Grow.
  absl::StatusOr<MemoryReservation> Keep(std::uint64_t bytes);

  // Makes room for `more` items at the end of a vector or string, at least
  // doubling its capacity. While the items are moved, the old and the new
  // memory both count. Errors are those of Grow, and leave `items` unchanged.
  template <typename Items>
  absl::Status MakeRoom(Items& items, std::size_t more) {
    const std::size_t before = items.capacity();
    if (more <= before - items.size()) return absl::OkStatus();
    const std::size_t after = std::max(items.size() + more, 2 * before);
    absl::Status grown = Grow(after * sizeof(items[0]));
    if (!grown.ok()) return grown;
    items.reserve(after);
    Shrink(before * sizeof(items[0]));
    return grown;
  }

 private:
  // Counts `bytes` more, and extends the reservation if it is too small.
  absl::Status GrowLocked(std::uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  MemoryBudget* const budget_;
  const std::string what_;
  Mutex mutex_;
  MemoryReservation reserved_ ABSL_GUARDED_BY(mutex_);
  // Bytes of `reserved_` that are allocated or about to be.
  std::uint64_t needed_ ABSL_GUARDED_BY(mutex_) = 0;
  // The largest value that `needed_` has had.
  std::uint64_t largest_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns the most bytes of heap that a string or other small object of `size`
// bytes takes: malloc adds its header and rounds up.
constexpr std::uint64_t HeapBytes(std::uint64_t size) { return size + 32; }

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_WORKING_MEMORY_H_
