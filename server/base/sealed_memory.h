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

// Memory that another process wrote and can no longer change. It is a memfd
// sealed against writing and shrinking (F_SEAL_WRITE, F_SEAL_SHRINK), mapped
// here for reading. The daemon can therefore rely on content that it has
// checked, and no access can fault.
//
// Immutable and thread-safe; shared by its readers. Owns the mapping and the
// memory's reservation. The budget outlives both. Never blocks. Only Map has
// errors.
class SealedMemory {
 public:
  // Maps all of the memory that `fd` refers to. INVALID_ARGUMENT: `fd` is not a
  // memfd, or not sealed against writing and shrinking. RESOURCE_EXHAUSTED: the
  // budget has no room for the memory. Messages begin with `what`, a name for
  // the memory.
  static absl::StatusOr<std::shared_ptr<const SealedMemory>> Map(
      const Fd& fd, MemoryBudget* budget, std::string_view what);
  // Maps a memfd that the daemon made itself, and whose size nobody else can
  // change. `reservation` has at least the memfd's bytes. Errors are those of
  // the other Map, except RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::shared_ptr<const SealedMemory>> Map(
      const Fd& fd, MemoryReservation reservation, std::string_view what);
  ~SealedMemory();
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;

  absl::Span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  // Maps the first `size` bytes of `fd`, which SizeOf has checked.
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
