#include "server/stream/intake.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace forebay::stream {
namespace {

// What all samples of the slots may hold, at least `least`.
std::uint64_t MostBytes(const Recipe& recipe, std::uint32_t slots,
                        std::uint64_t least) {
  const std::uint64_t sample =
      storage::HeldBytes(recipe.dataset->largest_sample());
  const std::uint64_t samples =
      std::uint64_t{slots} * recipe.batch.batch_size();
  constexpr auto kLimit = std::numeric_limits<std::int64_t>::max();
  if (samples > 0 && sample > kLimit / samples) return kLimit;
  return std::max(least, sample * samples);
}

}  // namespace

Intake::Intake(const Recipe* recipe, storage::Form form, schedule::Flow flow,
               base::MemoryBudget* budget, std::uint32_t slots,
               base::MemoryReservation read_window)
    : requester_(recipe, form, flow),
      depth_(slots),
      window_(read_window.bytes(),
              MostBytes(*recipe, slots, read_window.bytes())),
      room_(budget, std::move(read_window)) {}

void Intake::StartEpoch() {
  depth_.StartEpoch();
  window_.StartEpoch();
}

void Intake::Begin(std::size_t ready, ProductionLine& line,
                   arena::SlotPool& pool) {
  if (!line.HasMore()) return;
  depth_.SawReady(ready);
  line.Begin(pool,
             depth_.target() - std::min<std::size_t>(ready, depth_.target()));
}

void Intake::Published(const Batch& batch, std::size_t ready, bool more_to_come,
                       std::int64_t now_nanos) {
  if (more_to_come) depth_.SawReady(ready);
  depth_.Published(now_nanos - batch.asked_at_nanos, now_nanos);
}

std::uint64_t Intake::Window() const {
  return std::min(room_.window(), window_.limit());
}

bool Intake::HasRoom() const {
  // Asking in bulk keeps wake-ups rare: not for every bit of room.
  const std::uint64_t window = Window();
  return room_.in_flight() <= window - window / 4;
}

void Intake::Ask(std::int64_t now_nanos) {
  asked_at_nanos_ = now_nanos;
  window_.Look(now_nanos, reading_, arrived_);
  if (window_.wanted() == room_.window()) return;
  if (!room_.Resize(window_.wanted())) window_.Settle(room_.window());
}

std::optional<Intake::Read> Intake::Next(ProductionLine& line,
                                         const Pace& pace) {
  Place* const place = line.Next();
  if (place == nullptr) {
    Asked(false);
    return std::nullopt;
  }
  Read read = {place, requester_.RequestFor(place, line, pace)};
  if (room_.in_flight() > 0 && room_.in_flight() + place->held > Window()) {
    line.PutBack(place);
    Asked(true);
    return std::nullopt;
  }
  if (place->index == 0 && place->substitutions == 0)
    place->batch->asked_at_nanos = asked_at_nanos_;
  room_.Enter(place->held);
  reading_ += place->held;
  ++reads_in_flight_;
  return read;
}

void Intake::Asked(bool full) {
  window_.Asked(asked_at_nanos_, reading_, arrived_, room_.in_flight(), full);
}

void Intake::Arrived(const Place& place) {
  --reads_in_flight_;
  reading_ -= place.held;
  arrived_ += place.held;
}

void Intake::Rest() {
  if (room_.in_flight() == 0) room_.Resize(room_.least());
}

IntakeSnapshot Intake::Snapshot() const {
  return {.depth = depth_.target(),
          .window = room_.window(),
          .reads_in_flight = reads_in_flight_,
          .bytes_in_flight = room_.in_flight()};
}

}  // namespace forebay::stream
