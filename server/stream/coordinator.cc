#include "server/stream/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"

namespace forebay::stream {
namespace {

// The estimate of how many variants the cache holds is multiplied by kLess when
// a variant is missing, and by kMore when one is found. With these values the
// estimate falls if more than two in seven of the variants that it counts on
// are missing.
constexpr double kLess = 0.9995;
constexpr double kMore = 1.0002;
// Lower bounds of the estimate: a fraction of the cache's memory, and a number
// of samples.
constexpr double kMinPart = 0.01;
constexpr std::size_t kMinDecoded = 16;

// The bytes that the tables take for each variant, and for each member that
// wants it. Growing hash tables are counted with their spare room.
constexpr std::uint64_t kBytesPerVariant = 160;
constexpr std::uint64_t kBytesPerWant = 24;
// The least memory that is reserved at once for the tables.
constexpr std::uint64_t kReservationStep = std::uint64_t{16} << 10;

}  // namespace

Coordinator::OrderMember::OrderMember(std::shared_ptr<Coordinator> coordinator,
                                      base::MemoryReservation held)
    : coordinator_(std::move(coordinator)),
      held_(std::move(held)),
      member_([this] {
        base::MutexLock lock(&coordinator_->mutex_);
        ++coordinator_->members_;
        return coordinator_->order_.Join();
      }()) {
  base::MutexLock lock(&coordinator_->mutex_);
  // The array gets its full size now: while it grew, it would take more memory
  // than BytesOfMember counts.
  drawn_.reserve(coordinator_->order_.size());
}

Coordinator::OrderMember::~OrderMember() {
  base::MutexLock lock(&coordinator_->mutex_);
  EndAllLocked();
  coordinator_->order_.Leave(member_);
  --coordinator_->members_;
}

absl::StatusOr<sampler::SampleSet> Coordinator::OrderMember::Check(
    std::uint64_t position, const base::IndexList* seen_samples) const {
  const std::uint64_t count =
      seen_samples == nullptr ? 0 : seen_samples->size();
  sampler::SampleSet set(coordinator_->size_);
  for (std::uint64_t i = 0; i < count; ++i) set.Add(seen_samples->At(i));
  const std::uint64_t distinct = set.size() - set.lacking();
  if (count != position || distinct != position) {
    return absl::InvalidArgumentError(
        absl::StrCat("an epoch in coordinated order goes on at sample ",
                     position, ", but the samples seen are ", distinct));
  }
  return set;
}

void Coordinator::OrderMember::Start(std::uint64_t position,
                                     sampler::SampleSet seen_samples) {
  base::MutexLock lock(&coordinator_->mutex_);
  begin_ = position;
  drawn_.clear();
  // Samples of an epoch that was given up may still be in flight.
  EndAllLocked();
  coordinator_->order_.StartEpoch(member_, std::move(seen_samples));
}

void Coordinator::OrderMember::EndLocked(std::uint64_t sample) {
  if (in_flight_.erase(sample) > 0) coordinator_->order_.Done(sample);
}

void Coordinator::OrderMember::EndAllLocked() {
  while (!in_flight_.empty()) EndLocked(in_flight_.begin()->first);
}

std::uint64_t Coordinator::OrderMember::At(std::uint64_t position) {
  base::MutexLock lock(&coordinator_->mutex_);
  FOREBAY_CHECK(position >= begin_);
  while (drawn_.size() <= position - begin_) {
    drawn_.push_back(coordinator_->order_.Next(member_));
    in_flight_[drawn_.back()] = begin_ + drawn_.size() - 1;
  }
  return drawn_[position - begin_];
}

std::optional<std::uint64_t> Coordinator::OrderMember::PositionOf(
    std::uint64_t sample) const {
  base::MutexLock lock(&coordinator_->mutex_);
  const auto* const order = &coordinator_->order_;
  const auto making = in_flight_.find(sample);
  if (making != in_flight_.end()) return making->second;
  const bool is_cheap = order->IsDecoded(sample) || order->IsInFlight(sample);
  if (order->HasSeen(member_, sample)) {
    if (!is_cheap) return std::nullopt;
    // The next epoch takes decoded samples first, so this sample comes early in
    // it.
    return order->size() + order->decoded();
  }
  const std::uint64_t left = order->Left(member_);
  const std::uint64_t until =
      is_cheap ? std::min<std::uint64_t>(order->DecodedFor(member_) + 1, left)
               : left;
  return begin_ + drawn_.size() + until;
}

bool Coordinator::OrderMember::IsAwaited(std::uint64_t sample) const {
  base::MutexLock lock(&coordinator_->mutex_);
  return coordinator_->order_.IsLackedByOthers(member_, sample);
}

Coordinator::Coordinator(std::uint64_t size, std::uint64_t room,
                         std::uint64_t seed, base::MemoryBudget* budget)
    : size_(size), room_(room), budget_(budget), order_(size, size, seed) {}

// A member takes 8 bytes for each sample that it draws, and a bit for each
// sample that it has seen. While an epoch starts, there are two sets of seen
// samples with their counts.
std::uint64_t Coordinator::BytesOfMember(std::uint64_t size) {
  // The result is more than any budget has.
  if (size > UINT64_MAX / 16) return UINT64_MAX;
  return size * sizeof(std::uint64_t) + size / 2 + 4096;
}

std::shared_ptr<Coordinator::OrderMember> Coordinator::Join(
    base::MemoryReservation held) {
  return std::shared_ptr<OrderMember>(
      new OrderMember(shared_from_this(), std::move(held)));
}

bool Coordinator::MakeRoomLocked() {
  const std::uint64_t needed =
      (order_.decoded() + 1) * (kBytesPerVariant + members_ * kBytesPerWant);
  if (needed <= tables_reservation_.bytes()) return true;
  auto more = budget_->ReserveSpare(
      std::max(needed - tables_reservation_.bytes(), kReservationStep));
  if (!more.has_value()) return false;
  tables_reservation_.Add(*std::move(more));
  return true;
}

void Coordinator::AdaptLocked(double factor) {
  part_ = std::clamp(part_ * factor, kMinPart, 1.0);
  if (variant_bytes_ == 0) return;
  const double fit = part_ * static_cast<double>(room_) / variant_bytes_;
  const auto most = static_cast<double>(order_.size());
  order_.SetCapacity(
      std::max(kMinDecoded, static_cast<std::size_t>(std::min(fit, most))));
}

void Coordinator::OrderMember::Found(std::uint64_t sample) {
  base::MutexLock lock(&coordinator_->mutex_);
  EndLocked(sample);
  coordinator_->AdaptLocked(kMore);
}

std::vector<std::uint64_t> Coordinator::OrderMember::Kept(std::uint64_t sample,
                                                          std::uint64_t bytes) {
  base::MutexLock lock(&coordinator_->mutex_);
  sampler::CoordinatedOrder& order = coordinator_->order_;
  EndLocked(sample);
  const auto is = static_cast<double>(bytes);
  coordinator_->variant_bytes_ =
      coordinator_->variant_bytes_ == 0
          ? is
          : coordinator_->variant_bytes_ +
                (is - coordinator_->variant_bytes_) / 64;
  // A sample that counts as decoded should have been found in the cache.
  coordinator_->AdaptLocked(order.IsDecoded(sample) ? kLess : 1);
  if (!coordinator_->MakeRoomLocked()) return {sample};
  order.Put(sample);
  return order.TakeRemoved();
}

void Coordinator::OrderMember::Missed(std::uint64_t sample) {
  base::MutexLock lock(&coordinator_->mutex_);
  sampler::CoordinatedOrder& order = coordinator_->order_;
  EndLocked(sample);
  if (!order.IsDecoded(sample)) return;
  coordinator_->AdaptLocked(kLess);
  order.Drop(sample);
}

}  // namespace forebay::stream
