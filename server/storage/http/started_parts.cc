#include "server/storage/http/started_parts.h"

#include <algorithm>
#include <utility>

namespace forebay::storage::http {

void StartedParts::Begin(Id id, std::uint64_t bytes, std::int64_t now_nanos) {
  parts_.emplace(id, Part{bytes, State::kInFlight, now_nanos});
  bytes_ += bytes;
}

void StartedParts::End(Id id) {
  const auto found = parts_.find(id);
  if (found == parts_.end()) return;
  if (found->second.state == State::kInFlight) bytes_ -= found->second.bytes;
  parts_.erase(found);
}

void StartedParts::Pause(Id id) {
  const auto found = parts_.find(id);
  if (found != parts_.end()) GiveBack(id, &found->second, State::kPaused);
}

void StartedParts::MakeReady(Id id) {
  const auto found = parts_.find(id);
  if (found == parts_.end()) return;
  GiveBack(id, &found->second, State::kReady);
  ready_.push_back(id);
}

std::optional<StartedParts::Id> StartedParts::TakeNext(std::int64_t now_nanos) {
  while (!ready_.empty()) {
    const Id id = ready_.front();
    ready_.pop_front();
    const auto found = parts_.find(id);
    if (found == parts_.end() || found->second.state != State::kReady) continue;
    found->second.begun_nanos = now_nanos;
    Take(id, &found->second);
    return id;
  }
  return std::nullopt;
}

void StartedParts::Look(std::int64_t now_nanos, std::int64_t stall_nanos,
                        const std::function<std::int64_t(Id)>& heard) {
  for (auto& [id, part] : parts_) {
    if (part.state != State::kInFlight && part.state != State::kStalled)
      continue;
    const std::int64_t since = std::max(part.begun_nanos, heard(id));
    if (now_nanos - since < stall_nanos) {
      part.late_since_nanos = INT64_MIN;
      if (part.state == State::kStalled) Take(id, &part);
    } else if (std::exchange(part.late_since_nanos, since) == since) {
      GiveBack(id, &part, State::kStalled);
    }
  }
}

void StartedParts::GiveBack(Id id, Part* part, State state) {
  if (std::exchange(part->state, state) != State::kInFlight) return;
  bytes_ -= part->bytes;
  places_.give_back(id);
}

void StartedParts::Take(Id id, Part* part) {
  part->state = State::kInFlight;
  bytes_ += part->bytes;
  places_.take(id);
}

}  // namespace forebay::storage::http
