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

// A memfd that another process wrote and can no longer change: sealed against
// writing and shrinking, and mapped here for reading. So what was checked once
// stays true, and no access faults.
//
// Immutable and thread-safe; shared by its readers. Owns the mapping, and the
// memory's part of the budget; the budget outlives it. Never blocks.
class SealedMemory {
 public:
  // Maps all that `fd` refers to. INVALID_ARGUMENT: it is no memfd, or not
  // sealed so; RESOURCE_EXHAUSTED: the budget has no room for it. Errors say
  // `what` it should be.
  static absl::StatusOr<std::shared_ptr<const SealedMemory>> Map(
      const Fd& fd, MemoryBudget* budget, std::string_view what);
  // As above, of a memfd of our own that nobody can make grow, and that is
  // already reserved: at least its bytes.
  static absl::StatusOr<std::shared_ptr<const SealedMemory>> Map(
      const Fd& fd, MemoryReservation reservation, std::string_view what);
  ~SealedMemory();
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;

  absl::Span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  static absl::StatusOr<std::shared_ptr<const SealedMemory>> MapBytes(
      const Fd& fd, std::uint64_t size, MemoryReservation reservation,
      std::string_view what);

  SealedMemory(absl::Span<const std::uint8_t> bytes,
               MemoryReservation reservation)
      : bytes_(bytes), reservation_(std::move(reservation)) {}

  const absl::Span<const std::uint8_t> bytes_;
  const MemoryReservation reservation_;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_SEALED_MEMORY_H_
