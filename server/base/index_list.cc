#include "server/base/index_list.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// The positions of a list are sorted into buckets by the high bits of their
// numbers (a counting sort), and then within each bucket. There are about as
// many buckets as the list has numbers. Most buckets therefore have one or two
// positions, and a lookup takes about the same time in long and in short lists.
// If a number occurs often, its bucket has many positions, and is searched by
// bisection.
//
// Building takes O(n) for the buckets, and a sort of each bucket. If each
// number has a bucket of its own (the shift is 0), the buckets need no sort.

namespace forebay::base {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the numbers of a list are little-endian");

// Returns the smallest shift that puts the numbers below `bound` into at most
// `size` + 1 buckets.
int ShiftFor(std::uint64_t bound, std::uint64_t size) {
  int shift = 0;
  while ((bound >> shift) > size) ++shift;
  return shift;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const IndexList>> IndexList::Create(
    std::shared_ptr<const SealedMemory> numbers, std::uint64_t bound,
    MemoryBudget* budget, std::string_view what) {
  const std::string name(what);
  const std::uint64_t bytes = numbers->bytes().size();
  const std::uint64_t size = bytes / kBytesEach;
  if (bytes % kBytesEach != 0 || size > kMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", bytes, " bytes are not a list of at most ",
                     kMax, " 64-bit numbers"));
  }
  // positions_ has an element for each number. starts_ has at most `size` + 3
  // elements while it is filled: one for each bucket, and two more.
  FOREBAY_ASSIGN_OR_RETURN(
      MemoryReservation reservation,
      budget->Reserve((2 * size + 4) * sizeof(std::uint32_t), what));
  std::shared_ptr<IndexList> list(
      new IndexList(std::move(numbers), std::move(reservation)));
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t number = list->At(i);
    if (number < bound) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": number ", i, " of it is ", static_cast<std::int64_t>(number),
        ", but the dataset has ", bound, " samples"));
  }
  list->TurnRound(bound);
  return list;
}

void IndexList::TurnRound(std::uint64_t bound) {
  digest_ = XXH3_64bits(memory_->bytes().data(), memory_->bytes().size());
  shift_ = ShiftFor(bound, size());
  const std::uint64_t buckets = bound == 0 ? 0 : ((bound - 1) >> shift_) + 1;
  starts_.assign(buckets + 2, 0);
  positions_.resize(size());
  // The size of bucket b is counted in starts_[b + 2]. After the sums,
  // starts_[b + 1] is the start of bucket b. Filling the bucket advances
  // starts_[b + 1] to the bucket's end, which is the start of bucket b + 1.
  for (std::uint64_t i = 0; i < size(); ++i) ++starts_[(At(i) >> shift_) + 2];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  for (std::uint64_t i = 0; i < size(); ++i) {
    positions_[starts_[(At(i) >> shift_) + 1]++] =
        static_cast<std::uint32_t>(i);
  }
  starts_.pop_back();
  if (shift_ == 0) return;
  for (std::size_t bucket = 0; bucket + 1 < starts_.size(); ++bucket) {
    std::sort(positions_.begin() + starts_[bucket],
              positions_.begin() + starts_[bucket + 1],
              [this](std::uint32_t a, std::uint32_t b) {
                return At(a) != At(b) ? At(a) < At(b) : a < b;
              });
  }
}

absl::Span<const std::uint32_t> IndexList::PositionsOf(
    std::uint64_t number) const {
  const std::uint64_t bucket = number >> shift_;
  if (bucket + 1 >= starts_.size()) return {};
  const auto begin = positions_.begin() + starts_[bucket];
  const auto end = positions_.begin() + starts_[bucket + 1];
  const auto first = std::partition_point(
      begin, end,
      [this, number](std::uint32_t position) { return At(position) < number; });
  const auto last =
      std::partition_point(first, end, [this, number](std::uint32_t position) {
        return At(position) == number;
      });
  return absl::MakeConstSpan(positions_)
      .subspan(static_cast<std::size_t>(first - positions_.begin()),
               static_cast<std::size_t>(last - first));
}

std::optional<std::uint64_t> IndexList::PositionOf(std::uint64_t number,
                                                   std::uint64_t from) const {
  const absl::Span<const std::uint32_t> positions = PositionsOf(number);
  const auto* const found =
      std::lower_bound(positions.begin(), positions.end(), from);
  if (found == positions.end()) return std::nullopt;
  return *found;
}

std::uint64_t IndexList::RepeatsBefore(std::uint64_t position) const {
  const absl::Span<const std::uint32_t> positions = PositionsOf(At(position));
  return static_cast<std::uint64_t>(
      std::lower_bound(positions.begin(), positions.end(), position) -
      positions.begin());
}

}  // namespace forebay::base
