#ifndef FOREBAY_SERVER_BASE_INDEX_LIST_H_
#define FOREBAY_SERVER_BASE_INDEX_LIST_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/sealed_memory.h"

namespace forebay::base {

// Numbers in a given order, repeats allowed, and the positions of each number.
// Looks up a position in O(1), and a number in about that.
//
// Immutable and thread-safe; shared by its users. Keeps the memory in which the
// numbers came, and up to 8 bytes a number besides. Never blocks.
class IndexList {
 public:
  // The most numbers of a list.
  static constexpr std::uint64_t kMax = UINT32_MAX;

  // Reads 64-bit numbers, each below `bound`. Takes some 10 ns a number. The
  // budget outlives the list. INVALID_ARGUMENT: it is no such list, or has a
  // number that is too large; RESOURCE_EXHAUSTED: no memory for the positions.
  // Errors say `what` it is.
  static absl::StatusOr<std::shared_ptr<const IndexList>> Create(
      std::shared_ptr<const SealedMemory> numbers, std::uint64_t bound,
      MemoryBudget* budget, std::string_view what);

  std::uint64_t size() const { return memory_->bytes().size() / kBytesEach; }

  // `position` is less than size().
  std::uint64_t At(std::uint64_t position) const {
    std::uint64_t number;
    std::memcpy(&number, memory_->bytes().data() + position * kBytesEach,
                kBytesEach);
    return number;
  }

  // Returns the positions of a number, in ascending order.
  absl::Span<const std::uint32_t> PositionsOf(std::uint64_t number) const;
  // Returns the first of these that is not before `from`.
  std::optional<std::uint64_t> PositionOf(std::uint64_t number,
                                          std::uint64_t from = 0) const;
  // Returns how often the number at `position` stands before it.
  std::uint64_t RepeatsBefore(std::uint64_t position) const;

  // A digest (XXH3) of the numbers in their order.
  std::uint64_t digest() const { return digest_; }

 private:
  static constexpr std::uint64_t kBytesEach = 8;

  IndexList(std::shared_ptr<const SealedMemory> memory,
            MemoryReservation reservation)
      : memory_(std::move(memory)), reservation_(std::move(reservation)) {}

  void TurnRound(std::uint64_t bound);

  const std::shared_ptr<const SealedMemory> memory_;
  const MemoryReservation reservation_;  // for what follows
  std::uint64_t digest_ = 0;
  // All positions, by number and then in order. Bucket b is starts_[b] to
  // starts_[b + 1] - 1, and has those of numbers with b in their high bits.
  int shift_ = 0;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> positions_;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_INDEX_LIST_H_
