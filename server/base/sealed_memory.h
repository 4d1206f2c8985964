#ifndef FOREBAY_SERVER_BASE_SEALED_MEMORY_H_
#define FOREBAY_SERVER_BASE_SEALED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"

namespace forebay::base {

// What another process wrote into a memfd and can change no more: sealed
// against writing and shrinking, and mapped here for reading. So what was found
// in it once stays so, and no access to it faults.
//
// Immutable and thread-safe; shared by all who read it. Owns the mapping, and
// the part of the budget that the memory takes for as long; the budget outlives
// it. Never blocks.
class SealedMemory {
 public:
  // All that `fd` refers to. Errors say `what` it should be: INVALID_ARGUMENT:
  // no memfd, or not sealed so; RESOURCE_EXHAUSTED: the budget has no room for
  // it.
  static absl::StatusOr<std::shared_ptr<const SealedMemory>> Map(
      const Fd& fd, MemoryBudget* budget, std::string_view what);
  ~SealedMemory();
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;

  absl::Span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  SealedMemory(absl::Span<const std::uint8_t> bytes,
               MemoryReservation reservation)
      : bytes_(bytes), reservation_(std::move(reservation)) {}

  const absl::Span<const std::uint8_t> bytes_;
  const MemoryReservation reservation_;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_SEALED_MEMORY_H_
