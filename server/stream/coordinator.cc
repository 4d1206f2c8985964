#include "server/stream/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/sampler/sample_set.h"

namespace forebay::stream {
namespace {

// A form that is missing says that there is room for so much less, one that is
// found that it could be a little more.
constexpr double kLess = 0.9995;
constexpr double kMore = 1.0002;
constexpr double kLeastPart = 0.01;
constexpr std::size_t kLeastShelved = 16;

// Bytes that are taken by what is known of one form, and of a seat's want of
// it: in tables that grow.
constexpr std::uint64_t kFormKnown = 160;
constexpr std::uint64_t kFormWanted = 24;
constexpr std::uint64_t kKnownStep = std::uint64_t{16} << 10;

}  // namespace

Coordinator::Seat::Seat(std::shared_ptr<Coordinator> coordinator,
                        base::MemoryReservation held)
    : coordinator_(std::move(coordinator)),
      held_(std::move(held)),
      reader_([this] {
        base::MutexLock lock(&coordinator_->mutex_);
        ++coordinator_->seats_;
        return coordinator_->order_.Join();
      }()) {
  base::MutexLock lock(&coordinator_->mutex_);
  // Or it would take more than is counted while it grows.
  drawn_.reserve(coordinator_->order_.size());
}

Coordinator::Seat::~Seat() {
  base::MutexLock lock(&coordinator_->mutex_);
  EndAllLocked();
  coordinator_->order_.Leave(reader_);
  --coordinator_->seats_;
}

absl::Status Coordinator::Seat::Start(std::uint64_t position,
                                      const base::IndexList* seen) {
  base::MutexLock lock(&coordinator_->mutex_);
  sampler::CoordinatedOrder& order = coordinator_->order_;
  const std::uint64_t told = seen == nullptr ? 0 : seen->size();
  sampler::SampleSet set(order.size());
  for (std::uint64_t i = 0; i < told; ++i) set.Add(seen->At(i));
  const std::uint64_t distinct = order.size() - set.lacking();
  if (told != position || distinct != position) {
    return absl::InvalidArgumentError(
        absl::StrCat("an epoch in coordinated order goes on at sample ",
                     position, ", but the samples seen are ", distinct));
  }
  begin_ = position;
  drawn_.clear();
  // Those of an epoch that was given up.
  EndAllLocked();
  return order.Resume(reader_, set.ToBytes());
}

void Coordinator::Seat::EndLocked(std::uint64_t sample) {
  if (making_.erase(sample) > 0) coordinator_->order_.Made(sample);
}

void Coordinator::Seat::EndAllLocked() {
  while (!making_.empty()) EndLocked(making_.begin()->first);
}

std::uint64_t Coordinator::Seat::At(std::uint64_t position) {
  base::MutexLock lock(&coordinator_->mutex_);
  FOREBAY_CHECK(position >= begin_);
  while (drawn_.size() <= position - begin_) {
    drawn_.push_back(coordinator_->order_.Next(reader_));
    making_[drawn_.back()] = begin_ + drawn_.size() - 1;
  }
  return drawn_[position - begin_];
}

std::optional<std::uint64_t> Coordinator::Seat::PositionOf(
    std::uint64_t sample) const {
  base::MutexLock lock(&coordinator_->mutex_);
  const auto* const order = &coordinator_->order_;
  const auto making = making_.find(sample);
  if (making != making_.end()) return making->second;
  const bool is_cheap =
      order->IsShelved(sample) || order->IsInTheMaking(sample);
  if (order->HasSeen(reader_, sample)) {
    if (!is_cheap) return std::nullopt;
    // The next epoch takes it early.
    return order->size() + order->shelved();
  }
  const std::uint64_t left = order->Left(reader_);
  const std::uint64_t until =
      is_cheap ? std::min<std::uint64_t>(order->Shelved(reader_) + 1, left)
               : left;
  return begin_ + drawn_.size() + until;
}

bool Coordinator::Seat::IsAwaited(std::uint64_t sample) const {
  base::MutexLock lock(&coordinator_->mutex_);
  return coordinator_->order_.IsLackedByOthers(reader_, sample);
}

Coordinator::Coordinator(std::uint64_t size, std::uint64_t room,
                         std::uint64_t seed, base::MemoryBudget* budget)
    : room_(room), budget_(budget), order_(size, size, seed) {}

// What was drawn; and a bit for what was seen, in three sets while an epoch
// starts.
std::uint64_t Coordinator::BytesOfSeat(std::uint64_t size) {
  return size * sizeof(std::uint64_t) + size / 2 + 4096;
}

std::shared_ptr<Coordinator::Seat> Coordinator::Join(
    base::MemoryReservation held) {
  return std::shared_ptr<Seat>(new Seat(shared_from_this(), std::move(held)));
}

bool Coordinator::MakeRoomLocked() {
  const std::uint64_t needed =
      (order_.shelved() + 1) * (kFormKnown + seats_ * kFormWanted);
  if (needed <= known_.bytes()) return true;
  auto more =
      budget_->ReserveSpare(std::max(needed - known_.bytes(), kKnownStep));
  if (!more.has_value()) return false;
  known_.Add(*std::move(more));
  return true;
}

void Coordinator::AdaptLocked(double factor) {
  part_ = std::clamp(part_ * factor, kLeastPart, 1.0);
  if (form_bytes_ == 0) return;
  const double fit = part_ * static_cast<double>(room_) / form_bytes_;
  const auto most = static_cast<double>(order_.size());
  order_.SetCapacity(
      std::max(kLeastShelved, static_cast<std::size_t>(std::min(fit, most))));
}

void Coordinator::Seat::Found(std::uint64_t sample) {
  base::MutexLock lock(&coordinator_->mutex_);
  EndLocked(sample);
  coordinator_->AdaptLocked(kMore);
}

std::vector<std::uint64_t> Coordinator::Seat::Kept(std::uint64_t sample,
                                                   std::uint64_t bytes) {
  base::MutexLock lock(&coordinator_->mutex_);
  sampler::CoordinatedOrder& order = coordinator_->order_;
  EndLocked(sample);
  const auto is = static_cast<double>(bytes);
  coordinator_->form_bytes_ =
      coordinator_->form_bytes_ == 0
          ? is
          : coordinator_->form_bytes_ + (is - coordinator_->form_bytes_) / 64;
  // Who wanted it should have found it.
  coordinator_->AdaptLocked(order.IsShelved(sample) ? kLess : 1);
  if (!coordinator_->MakeRoomLocked()) return {sample};
  order.Put(sample);
  return order.TakeRemoved();
}

void Coordinator::Seat::Missed(std::uint64_t sample) {
  base::MutexLock lock(&coordinator_->mutex_);
  sampler::CoordinatedOrder& order = coordinator_->order_;
  EndLocked(sample);
  if (!order.IsShelved(sample)) return;
  coordinator_->AdaptLocked(kLess);
  order.Drop(sample);
}

}  // namespace forebay::stream
