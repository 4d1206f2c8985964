#include "server/stream/prefetcher.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/shm_ring.h"

namespace forebay::stream {
namespace {

// Returns the most bytes that the samples of all slots occupy, at least
// `least`.
std::uint64_t MostBytes(const StreamSpec& spec, std::uint64_t least) {
  const std::uint64_t sample =
      storage::HeldBytes(spec.dataset->largest_sample());
  const std::uint64_t samples =
      std::uint64_t{proto::kMaxSlots} * spec.batch.size;
  constexpr auto kLimit = std::numeric_limits<std::int64_t>::max();
  if (samples > 0 && sample > kLimit / samples) return kLimit;
  return std::max(least, sample * samples);
}

}  // namespace

Prefetcher::Prefetcher(const StreamSpec* spec, storage::Variant variant,
                       base::MemoryBudget* budget,
                       base::MemoryReservation read_window)
    : request_builder_(spec, variant),
      budget_(budget),
      window_(read_window.bytes(), MostBytes(*spec, read_window.bytes())),
      read_budget_(budget, std::move(read_window)) {}

std::uint64_t Prefetcher::WindowBytes() const {
  return std::min(read_budget_.window(), window_.limit());
}

bool Prefetcher::HasRoom() const {
  // Requests are made in bulk, once a quarter of the window is free: fewer
  // requests at a time would mean more wake-ups.
  const std::uint64_t window = WindowBytes();
  return read_budget_.in_flight() <= window - window / 4;
}

void Prefetcher::Ask(std::int64_t now_nanos) {
  asked_at_nanos_ = now_nanos;
  capped_too_ = true;
  window_.Look(now_nanos, reading_, arrived_);
  if (window_.wanted() == read_budget_.window()) return;
  if (!read_budget_.Resize(window_.wanted()))
    window_.Settle(read_budget_.window());
}

std::optional<Prefetcher::Read> Prefetcher::Next(InFlightBatches& in_flight,
                                                 const Members& members) {
  PendingSample* const pending = in_flight.Next(capped_too_);
  if (pending == nullptr) {
    Asked(false);
    return std::nullopt;
  }
  Read read = {pending, request_builder_.RequestFor(
                            pending, *members(pending->batch->payer))};
  if (const Member* const payer = members(PayerOf(*pending)))
    read.request.purpose.job = payer->terms().flow;
  pending->capped = pending->batch->capped;
  if (pending->capped && IsFullOfCapped(*pending)) {
    in_flight.PutBack(pending);
    capped_too_ = false;
    return Next(in_flight, members);
  }
  std::optional<base::MemoryReservation> own;
  if (pending->capped) own = budget_->ReserveSpare(pending->held);
  if (!own.has_value() && read_budget_.in_flight() > 0 &&
      read_budget_.in_flight() + pending->held > WindowBytes()) {
    in_flight.PutBack(pending);
    Asked(true);
    return std::nullopt;
  }
  if (pending->index == 0 && pending->substitutions == 0)
    pending->batch->asked_at_nanos = asked_at_nanos_;
  pending->batch->moved_at_nanos = asked_at_nanos_;
  pending->reading = true;
  if (pending->capped) capped_ += pending->held;
  if (own.has_value()) {
    pending->own = *std::move(own);
    own_ += pending->held;
  } else {
    read_budget_.Enter(pending->held);
  }
  reading_ += pending->held;
  ++reads_in_flight_;
  return read;
}

void Prefetcher::Asked(bool full) {
  window_.Asked(asked_at_nanos_, reading_, arrived_, read_budget_.in_flight(),
                full);
}

bool Prefetcher::IsFullOfCapped(const PendingSample& pending) const {
  return capped_ > 0 && capped_ + pending.held > WindowBytes() / 2;
}

void Prefetcher::Arrived(PendingSample& pending) {
  pending.reading = false;
  --reads_in_flight_;
  reading_ -= pending.held;
  arrived_ += pending.held;
}

void Prefetcher::Leave(PendingSample& pending) {
  if (pending.capped) capped_ -= pending.held;
  const std::uint64_t own = pending.own.bytes();
  if (own == 0) read_budget_.Leave(pending.held);
  own_ -= own;
  pending.own.Release();
}

void Prefetcher::ReleaseIdleMemory() {
  if (read_budget_.in_flight() == 0) read_budget_.Resize(read_budget_.least());
}

PrefetchSnapshot Prefetcher::Snapshot() const {
  return {.window = read_budget_.window(),
          .reads_in_flight = reads_in_flight_,
          .bytes_in_flight = read_budget_.in_flight() + own_};
}

}  // namespace forebay::stream
