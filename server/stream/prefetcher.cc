#include "server/stream/prefetcher.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/shm_ring.h"

namespace forebay::stream {
namespace {

// The most bytes that the samples of all slots hold, at least `least`.
std::uint64_t MostBytes(const StreamSpec& spec, std::uint64_t least) {
  const std::uint64_t sample =
      storage::HeldBytes(spec.dataset->largest_sample());
  const std::uint64_t samples =
      std::uint64_t{proto::kMaxSlots} * spec.batch.batch_size();
  constexpr auto kLimit = std::numeric_limits<std::int64_t>::max();
  if (samples > 0 && sample > kLimit / samples) return kLimit;
  return std::max(least, sample * samples);
}

}  // namespace

Prefetcher::Prefetcher(const StreamSpec* spec, storage::Form form,
                       base::MemoryBudget* budget,
                       base::MemoryReservation read_window)
    : request_builder_(spec, form),
      budget_(budget),
      window_(read_window.bytes(), MostBytes(*spec, read_window.bytes())),
      read_budget_(budget, std::move(read_window)) {}

std::uint64_t Prefetcher::Window() const {
  return std::min(read_budget_.window(), window_.limit());
}

bool Prefetcher::HasRoom() const {
  // Asking in bulk keeps wake-ups rare: not for every bit of room.
  const std::uint64_t window = Window();
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
  Place* const place = in_flight.Next(capped_too_);
  if (place == nullptr) {
    Asked(false);
    return std::nullopt;
  }
  Read read = {place, request_builder_.RequestFor(
                          place, *members(place->batch->sponsor))};
  if (const Member* const payer = members(PayerOf(*place)))
    read.request.purpose.job = payer->terms().flow;
  place->capped = place->batch->capped;
  if (place->capped && IsFullOfCapped(*place)) {
    in_flight.PutBack(place);
    capped_too_ = false;
    return Next(in_flight, members);
  }
  std::optional<base::MemoryReservation> own;
  if (place->capped) own = budget_->ReserveSpare(place->held);
  if (!own.has_value() && read_budget_.in_flight() > 0 &&
      read_budget_.in_flight() + place->held > Window()) {
    in_flight.PutBack(place);
    Asked(true);
    return std::nullopt;
  }
  if (place->index == 0 && place->substitutions == 0)
    place->batch->asked_at_nanos = asked_at_nanos_;
  place->batch->moved_at_nanos = asked_at_nanos_;
  place->reading = true;
  if (place->capped) capped_ += place->held;
  if (own.has_value()) {
    place->own = *std::move(own);
    own_ += place->held;
  } else {
    read_budget_.Enter(place->held);
  }
  reading_ += place->held;
  ++reads_in_flight_;
  return read;
}

void Prefetcher::Asked(bool full) {
  window_.Asked(asked_at_nanos_, reading_, arrived_, read_budget_.in_flight(),
                full);
}

bool Prefetcher::IsFullOfCapped(const Place& place) const {
  return capped_ > 0 && capped_ + place.held > Window() / 2;
}

void Prefetcher::Arrived(Place& place) {
  place.reading = false;
  --reads_in_flight_;
  reading_ -= place.held;
  arrived_ += place.held;
}

void Prefetcher::Leave(Place& place) {
  if (place.capped) capped_ -= place.held;
  const std::uint64_t own = place.own.bytes();
  if (own == 0) read_budget_.Leave(place.held);
  own_ -= own;
  place.own.Release();
}

void Prefetcher::Rest() {
  if (read_budget_.in_flight() == 0) read_budget_.Resize(read_budget_.least());
}

PrefetchSnapshot Prefetcher::Snapshot() const {
  return {.window = read_budget_.window(),
          .reads_in_flight = reads_in_flight_,
          .bytes_in_flight = read_budget_.in_flight() + own_};
}

}  // namespace forebay::stream
