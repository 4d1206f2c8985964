#include "server/stream/sharing_snapshot.h"

#include <algorithm>
#include <optional>

#include "server/stream/batch_policy.h"
#include "server/stream/cursor.h"

namespace forebay::stream {
namespace {

Position PositionOf(const Cursor& cursor) {
  return cursor.PositionOf(cursor.next());
}

// Samples from one place to another that lies ahead of it; else 0.
std::uint64_t Gap(Position from, Position to) {
  return static_cast<std::uint64_t>(
      std::min<Position>(to - std::min(to, from), UINT64_MAX));
}

// Whether what one of them gets next the other gets within its slots.
bool AreTogether(const Member& one, const Member& other) {
  const auto ahead = one.cursor().BatchesUntil(other.cursor().next());
  return other.cursor().BatchesUntil(one.cursor().next()).has_value() ||
         (ahead.has_value() && *ahead <= one.terms().slots);
}

// Between the member's request and another's.
struct Precedence {
  bool yields = false;
  bool catches = false;
};

Precedence PrecedenceOf(Member& member, const MemberSet& members,
                        const BatchScheduler& scheduler,
                        std::int64_t now_nanos) {
  Precedence found;
  const auto own = scheduler.RequestOf(member, now_nanos);
  if (!own.has_value()) return found;
  for (const auto& other : members) {
    const auto request = scheduler.RequestOf(*other, now_nanos);
    if (!request.has_value()) continue;
    found.yields |= request->claims && GivesWay(*own, *request);
    found.catches |= own->claims && GivesWay(*request, *own);
  }
  return found;
}

SharingState SharingStateOf(Member& member, std::uint64_t behind,
                            const MemberSet& members,
                            const BatchScheduler& scheduler,
                            std::int64_t now_nanos) {
  const Precedence precedence =
      PrecedenceOf(member, members, scheduler, now_nanos);
  if (precedence.catches) return SharingState::kCatching;
  if (precedence.yields) return SharingState::kYielding;
  const Cursor& cursor = member.cursor();
  const BatchKey next = cursor.next();
  if (behind > member.terms().slots * cursor.SamplesOf(next) &&
      scheduler.IsThere(next))
    return SharingState::kTrailing;
  const bool shares =
      std::any_of(members.begin(), members.end(), [&](const auto& other) {
        return other.get() != &member && other->cursor().running() &&
               AreTogether(member, *other);
      });
  return shares ? SharingState::kTogether : SharingState::kApart;
}

}  // namespace

SharingSnapshot SharingOf(Member& member, const MemberSet& members,
                          const BatchScheduler& scheduler,
                          std::int64_t now_nanos) {
  SharingSnapshot sharing{.running =
                              static_cast<std::uint32_t>(members.Running())};
  if (!member.cursor().running() || sharing.running < 2) return sharing;
  const Position own = PositionOf(member.cursor());
  for (const auto& other : members) {
    if (!other->cursor().running()) continue;
    sharing.behind =
        std::max(sharing.behind, Gap(own, PositionOf(other->cursor())));
  }
  sharing.sharing_state =
      SharingStateOf(member, sharing.behind, members, scheduler, now_nanos);
  return sharing;
}

}  // namespace forebay::stream
