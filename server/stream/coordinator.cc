#include "server/stream/coordinator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace forebay::stream {
namespace {

// More than loaders make at a time.
constexpr std::size_t kRecent = 2048;
// A form that is missing says that there is room for so much less, one that is
// found that it could be a little more.
constexpr double kLess = 0.98;
constexpr double kMore = 1.001;
constexpr double kLeastPart = 0.01;
constexpr std::size_t kLeastShelved = 16;

}  // namespace

Coordinator::Seat::Seat(std::shared_ptr<Coordinator> coordinator)
    : coordinator_(std::move(coordinator)), reader_([this] {
        base::MutexLock lock(&coordinator_->mutex_);
        return coordinator_->order_.Join();
      }()) {}

Coordinator::Seat::~Seat() {
  base::MutexLock lock(&coordinator_->mutex_);
  coordinator_->order_.Leave(reader_);
}

absl::Status Coordinator::Seat::Start(absl::Span<const std::uint8_t> seen,
                                      std::uint64_t seen_samples) {
  base::MutexLock lock(&coordinator_->mutex_);
  sampler::CoordinatedOrder& order = coordinator_->order_;
  if (seen.empty() && seen_samples == 0) {
    order.StartEpoch(reader_);
    return absl::OkStatus();
  }
  const absl::Status status = order.Resume(reader_, seen);
  if (!status.ok()) return status;
  const std::uint64_t told = order.size() - order.Left(reader_);
  if (told == seen_samples) return status;
  order.StartEpoch(reader_);
  return absl::InvalidArgumentError(
      absl::StrCat("the set of samples seen has ", told,
                   ", but the epoch is to go on after ", seen_samples));
}

std::uint64_t Coordinator::Seat::Left() const {
  base::MutexLock lock(&coordinator_->mutex_);
  return coordinator_->order_.Left(reader_);
}

std::uint64_t Coordinator::Seat::Next() {
  base::MutexLock lock(&coordinator_->mutex_);
  const std::uint64_t sample = coordinator_->order_.Next(reader_);
  coordinator_->NoteLocked(sample);
  return sample;
}

std::uint64_t Coordinator::Seat::SamplesUntil(std::uint64_t sample) const {
  base::MutexLock lock(&coordinator_->mutex_);
  const sampler::CoordinatedOrder& order = coordinator_->order_;
  const std::uint64_t left = order.Left(reader_);
  const bool is_cheap =
      order.IsShelved(sample) || coordinator_->times_.contains(sample);
  const std::uint64_t shelved = order.Shelved(reader_);
  if (order.HasSeen(reader_, sample))
    return left + (is_cheap ? order.shelved() : order.size() / 2);
  return is_cheap ? std::min(shelved, left) : left;
}

Coordinator::Coordinator(std::uint64_t size, std::uint64_t room,
                         std::uint64_t seed)
    : room_(room), order_(size, size, seed) {}

std::unique_ptr<Coordinator::Seat> Coordinator::Join() {
  return std::unique_ptr<Seat>(new Seat(shared_from_this()));
}

void Coordinator::NoteLocked(std::uint64_t sample) {
  recent_.push_back(sample);
  ++times_[sample];
  if (recent_.size() <= kRecent) return;
  const auto oldest = times_.find(recent_.front());
  if (--oldest->second == 0) times_.erase(oldest);
  recent_.pop_front();
}

void Coordinator::AdaptLocked(double factor) {
  part_ = std::clamp(part_ * factor, kLeastPart, 1.0);
  if (form_bytes_ == 0) return;
  const double fit = part_ * static_cast<double>(room_) / form_bytes_;
  const auto most = static_cast<double>(order_.size());
  order_.SetCapacity(
      std::max(kLeastShelved, static_cast<std::size_t>(std::min(fit, most))));
}

void Coordinator::Found() {
  base::MutexLock lock(&mutex_);
  AdaptLocked(kMore);
}

void Coordinator::Kept(std::uint64_t sample, std::uint64_t bytes) {
  base::MutexLock lock(&mutex_);
  const auto is = static_cast<double>(bytes);
  form_bytes_ = form_bytes_ == 0 ? is : form_bytes_ + (is - form_bytes_) / 64;
  // Who wanted it should have found it.
  AdaptLocked(order_.IsShelved(sample) ? kLess : 1);
  order_.Put(sample);
}

void Coordinator::Missed(std::uint64_t sample) {
  base::MutexLock lock(&mutex_);
  if (!order_.IsShelved(sample)) return;
  AdaptLocked(kLess);
  order_.Drop(sample);
}

}  // namespace forebay::stream
