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

// The memory of work whose need is known only on the way, such as a scan. It is
// reserved in steps, each before the memory is allocated. The work's result
// keeps its part of the reservation. The rest is given back at the end, after
// malloc has returned freed memory to the system: so declare this before what
// it counts.
//
// Thread-safe, except for destruction; never blocks. The budget outlives it.
class WorkingMemory {
 public:
  // Errors say that it is for `what`.
  WorkingMemory(MemoryBudget* budget, std::string what)
      : budget_(budget), what_(std::move(what)) {}
  ~WorkingMemory();
  WorkingMemory(const WorkingMemory&) = delete;
  WorkingMemory& operator=(const WorkingMemory&) = delete;

  // Adds `bytes`. RESOURCE_EXHAUSTED: the limit would be passed.
  absl::Status Grow(std::uint64_t bytes);
  // Subtracts `bytes`, which are freed.
  void Shrink(std::uint64_t bytes);
  // Reserves `bytes` for the work's result. Errors: those of Grow.
  absl::StatusOr<MemoryReservation> Keep(std::uint64_t bytes);

  // Makes room for `more` items at the end of a vector or string. Errors: those
  // of Grow; nothing has changed then.
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
  absl::Status GrowLocked(std::uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  MemoryBudget* const budget_;
  const std::string what_;
  Mutex mutex_;
  MemoryReservation reserved_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t needed_ ABSL_GUARDED_BY(mutex_) = 0;   // bytes, of these
  std::uint64_t largest_ ABSL_GUARDED_BY(mutex_) = 0;  // that it ever was
};

// Returns the bytes of heap that a string, or any small object, of `size`
// takes.
constexpr std::uint64_t HeapBytes(std::uint64_t size) { return size + 32; }

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_WORKING_MEMORY_H_
