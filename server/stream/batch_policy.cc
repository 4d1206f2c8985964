#include "server/stream/batch_policy.h"

#include <algorithm>

namespace forebay::stream {
namespace {

Position PositionOf(const Cursor& cursor) {
  return cursor.PositionOf(cursor.next());
}

// Returns the number of samples between two positions; 0 if `to` is not ahead
// of `from`.
std::uint64_t Gap(Position from, Position to) {
  return static_cast<std::uint64_t>(
      std::min<Position>(to - std::min(to, from), UINT64_MAX));
}

// Whether `other` is behind `one` or, if it is ahead, by no more batches than
// `one` has slots.
bool AreTogether(const MemberView& one, const MemberView& other) {
  const auto ahead = one.cursor->BatchesUntil(other.cursor->next());
  return other.cursor->BatchesUntil(one.cursor->next()).has_value() ||
         (ahead.has_value() && *ahead <= one.slots);
}

// Returns the sharing state of the member `running[own]`, which is `behind`
// samples behind the member furthest ahead. kCatching and kYielding take
// precedence, for they explain why a member gets no batches.
SharingState StateOf(absl::Span<const MemberView> running, std::size_t own,
                     std::uint64_t behind) {
  const MemberView& member = running[own];
  bool catches = false;
  bool yields = false;
  bool is_together = false;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const MemberView& other = running[i];
    is_together |= i != own && AreTogether(member, other);
    if (!member.request.has_value() || !other.request.has_value()) continue;
    catches |=
        member.request->claims && GivesWay(*other.request, *member.request);
    yields |=
        other.request->claims && GivesWay(*member.request, *other.request);
  }
  if (catches) return SharingState::kCatching;
  if (yields) return SharingState::kYielding;
  const std::uint64_t own_slots =
      member.slots * member.cursor->SamplesOf(member.cursor->next());
  if (behind > own_slots && member.has_next) return SharingState::kTrailing;
  return is_together ? SharingState::kTogether : SharingState::kApart;
}

}  // namespace

bool GivesWay(const BatchRequest& leader, const BatchRequest& follower) {
  return follower.position < leader.position &&
         leader.position - follower.position < leader.left / 2;
}

std::optional<std::size_t> NextRequest(
    absl::Span<const BatchRequest> requests) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].open) continue;
    const bool waits = std::any_of(
        requests.begin(), requests.end(), [&](const BatchRequest& other) {
          return other.claims && GivesWay(requests[i], other);
        });
    if (!waits &&
        (!best.has_value() || requests[i].served < requests[*best].served))
      best = i;
  }
  return best;
}

bool MayEvict(const Eviction& eviction) {
  // Whether a trainer waits while no thread works, as far as is known.
  const bool idle =
      (eviction.hungry && (eviction.hangs || eviction.none_in_flight)) ||
      (eviction.has_nothing && eviction.hangs);
  if (!idle && eviction.grows) return false;
  // A batch behind the requested one can be made again in time.
  if (!eviction.is_before) return true;
  const std::int64_t soon = idle ? -1 : 4 * eviction.make_nanos;
  return std::none_of(eviction.readers.begin(), eviction.readers.end(),
                      [&](const Eviction::Reader& reader) {
                        return reader.is_requester ||
                               eviction.sharing_mode ==
                                   SharingMode::kLockstep ||
                               (reader.nanos <= soon && !reader.capped);
                      });
}

Sharing SharingOf(absl::Span<const MemberView> running, std::size_t own) {
  Sharing sharing;
  if (running.size() < 2) return sharing;
  const Position position = PositionOf(*running[own].cursor);
  for (const MemberView& other : running) {
    sharing.behind =
        std::max(sharing.behind, Gap(position, PositionOf(*other.cursor)));
  }
  sharing.state = StateOf(running, own, sharing.behind);
  return sharing;
}

}  // namespace forebay::stream
