#include "server/sampler/coordinated_order.h"

#include <algorithm>
#include <optional>

#include "server/base/check.h"

namespace forebay::sampler {
namespace {

// Of a hundred samples, so many are drawn by who has most left though the shelf
// has some for it. More of them make successive epochs depend less on one
// another, and cost more decodes.
constexpr std::uint64_t kDrawnWithoutNeed = 17;

// Samples that are looked at for one that will do, of each reader's.
constexpr int kTries = 16;

// The op of the random numbers that orders are drawn from.
constexpr std::uint16_t kCoordinated = 0xFFFD;

}  // namespace

CoordinatedOrder::CoordinatedOrder(std::uint64_t size, std::size_t capacity,
                                   std::uint64_t seed)
    : size_(size), seed_(seed), shelf_(capacity) {
  FOREBAY_CHECK(size > 0);
}

CoordinatedOrder::Reader CoordinatedOrder::Join() {
  const auto free = std::find(readers_.begin(), readers_.end(), nullptr);
  const Reader reader = free - readers_.begin();
  if (free == readers_.end()) readers_.emplace_back();
  readers_[reader] = std::make_unique<Epoch>(size_);
  shelf_.Restart(reader, &readers_[reader]->seen);
  return reader;
}

void CoordinatedOrder::Leave(Reader reader) {
  readers_[reader] = nullptr;
  shelf_.Restart(reader, nullptr);
}

void CoordinatedOrder::StartEpoch(Reader reader) {
  SampleSet& seen = readers_[reader]->seen;
  seen.Clear();
  shelf_.Restart(reader, &seen);
}

absl::Status CoordinatedOrder::Resume(Reader reader,
                                      absl::Span<const std::uint8_t> seen) {
  SampleSet& own = readers_[reader]->seen;
  absl::Status status = own.Assign(seen);
  if (status.ok()) shelf_.Restart(reader, &own);
  return status;
}

std::vector<std::uint8_t> CoordinatedOrder::Seen(Reader reader) const {
  return readers_[reader]->seen.ToBytes();
}

std::uint64_t CoordinatedOrder::Left(Reader reader) const {
  return readers_[reader]->seen.lacking();
}

bool CoordinatedOrder::IsLackedByOthers(Reader reader,
                                        std::uint64_t sample) const {
  for (Reader other = 0; other < readers_.size(); ++other) {
    if (other == reader || readers_[other] == nullptr) continue;
    if (!HasSeen(other, sample)) return true;
  }
  return false;
}

bool CoordinatedOrder::Moves(const Epoch& epoch) const {
  return epoch.moved_at.has_value() &&
         drawn_anew_ - *epoch.moved_at <= shelf_.capacity();
}

bool CoordinatedOrder::HasMostLeft(Reader reader) const {
  bool is_alone = true;
  for (Reader other = 0; other < readers_.size(); ++other) {
    const Epoch* const epoch = readers_[other].get();
    if (epoch == nullptr || other == reader || !Moves(*epoch)) continue;
    is_alone = false;
    // Of two that have the same left, the first has more.
    if (Left(other) > Left(reader) ||
        (Left(other) == Left(reader) && other < reader)) {
      return false;
    }
  }
  return !is_alone;
}

CoordinatedOrder::Reader CoordinatedOrder::LeastLeft(Reader reader) const {
  Reader least = reader;
  for (Reader other = 0; other < readers_.size(); ++other) {
    const Epoch* const epoch = readers_[other].get();
    if (epoch == nullptr || !Moves(*epoch) || Left(other) == 0) continue;
    if (Left(other) < Left(least)) least = other;
  }
  return least;
}

std::uint64_t CoordinatedOrder::DrawAnew(Reader reader, Reader like,
                                         base::PhiloxStream& random) const {
  const SampleSet& own = readers_[reader]->seen;
  for (const Reader whose : {like, reader}) {
    const SampleSet& seen = readers_[whose]->seen;
    for (int i = 0; i < kTries; ++i) {
      const std::uint64_t sample =
          seen.Lacking(random.UniformInt(seen.lacking()));
      if (!own.Has(sample) && !IsInTheMaking(sample)) return sample;
    }
  }
  return own.Lacking(random.UniformInt(own.lacking()));
}

std::uint64_t CoordinatedOrder::Next(Reader reader) {
  Epoch& epoch = *readers_[reader];
  FOREBAY_CHECK(epoch.seen.lacking() > 0);
  base::PhiloxStream random(seed_, /*epoch=*/0, ++draws_, kCoordinated);
  const bool without_need =
      random.UniformInt(100) < kDrawnWithoutNeed && HasMostLeft(reader);
  std::optional<std::uint64_t> sample;
  if (!without_need) sample = shelf_.Draw(reader, random);
  if (!sample.has_value()) {
    const Reader like = without_need ? reader : LeastLeft(reader);
    sample = DrawAnew(reader, like, random);
    ++drawn_anew_;
  }
  epoch.moved_at = drawn_anew_;
  epoch.seen.Add(*sample);
  shelf_.Take(reader, *sample);
  ++making_[*sample];
  return *sample;
}

void CoordinatedOrder::Made(std::uint64_t sample) {
  const auto known = making_.find(sample);
  FOREBAY_CHECK(known != making_.end());
  if (--known->second == 0) making_.erase(known);
}

void CoordinatedOrder::Put(std::uint64_t sample) {
  FOREBAY_CHECK(sample < size_);
  shelf_.Put(sample, Sets());
}

std::vector<const SampleSet*> CoordinatedOrder::Sets() const {
  std::vector<const SampleSet*> sets;
  sets.reserve(readers_.size());
  for (const auto& epoch : readers_) {
    sets.push_back(epoch == nullptr ? nullptr : &epoch->seen);
  }
  return sets;
}

}  // namespace forebay::sampler
