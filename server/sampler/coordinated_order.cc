#include "server/sampler/coordinated_order.h"

#include <algorithm>

#include "server/base/check.h"

namespace forebay::sampler {
namespace {

// Of a hundred samples, so many are drawn by who has most left though the shelf
// has some for it. More of them make successive epochs depend less on one
// another, and cost more decodes.
constexpr std::uint64_t kDrawnWithoutNeed = 15;

// The op of the random numbers that orders are drawn from.
constexpr std::uint16_t kCoordinated = 0xFFFD;

}  // namespace

CoordinatedOrder::CoordinatedOrder(std::uint64_t size, std::size_t capacity,
                                   std::uint64_t seed)
    : size_(size), seed_(seed), shelf_(capacity) {
  FOREBAY_CHECK(size > 0);
}

CoordinatedOrder::Reader CoordinatedOrder::Join() {
  const auto free = std::find(seen_.begin(), seen_.end(), nullptr);
  const Reader reader = free - seen_.begin();
  if (free == seen_.end()) seen_.emplace_back();
  seen_[reader] = std::make_unique<SampleSet>(size_);
  shelf_.Restart(reader, seen_[reader].get());
  return reader;
}

void CoordinatedOrder::Leave(Reader reader) {
  seen_[reader] = nullptr;
  shelf_.Restart(reader, nullptr);
}

void CoordinatedOrder::StartEpoch(Reader reader) {
  seen_[reader]->Clear();
  shelf_.Restart(reader, seen_[reader].get());
}

absl::Status CoordinatedOrder::Resume(Reader reader,
                                      absl::Span<const std::uint8_t> seen) {
  absl::Status status = seen_[reader]->Assign(seen);
  if (status.ok()) shelf_.Restart(reader, seen_[reader].get());
  return status;
}

std::vector<std::uint8_t> CoordinatedOrder::Seen(Reader reader) const {
  return seen_[reader]->ToBytes();
}

std::uint64_t CoordinatedOrder::Left(Reader reader) const {
  return seen_[reader]->lacking();
}

bool CoordinatedOrder::IsLackedByOthers(Reader reader,
                                        std::uint64_t sample) const {
  for (Reader other = 0; other < seen_.size(); ++other) {
    if (other == reader || seen_[other] == nullptr) continue;
    if (!seen_[other]->Has(sample)) return true;
  }
  return false;
}

bool CoordinatedOrder::HasMostLeft(Reader reader) const {
  bool is_alone = true;
  for (Reader other = 0; other < seen_.size(); ++other) {
    if (seen_[other] == nullptr || other == reader) continue;
    is_alone = false;
    // Of two that have the same left, the first has more.
    if (Left(other) > Left(reader) ||
        (Left(other) == Left(reader) && other < reader)) {
      return false;
    }
  }
  return !is_alone;
}

std::uint64_t CoordinatedOrder::Next(Reader reader) {
  SampleSet& seen = *seen_[reader];
  FOREBAY_CHECK(seen.lacking() > 0);
  base::PhiloxStream random(seed_, /*epoch=*/0, ++draws_, kCoordinated);
  std::optional<std::uint64_t> sample;
  const bool draws_anew = random.UniformInt(100) < kDrawnWithoutNeed;
  if (!draws_anew || !HasMostLeft(reader)) sample = shelf_.Draw(reader, random);
  if (!sample.has_value()) {
    sample = seen.Lacking(random.UniformInt(seen.lacking()));
  }
  seen.Add(*sample);
  shelf_.Take(reader, *sample);
  return *sample;
}

void CoordinatedOrder::Put(std::uint64_t sample) {
  FOREBAY_CHECK(sample < size_);
  shelf_.Put(sample, Sets());
}

std::vector<const SampleSet*> CoordinatedOrder::Sets() const {
  std::vector<const SampleSet*> sets;
  sets.reserve(seen_.size());
  for (const auto& seen : seen_) sets.push_back(seen.get());
  return sets;
}

}  // namespace forebay::sampler
