#include "server/stream/comparison.h"

#include <algorithm>
#include <optional>

#include "server/stream/agenda.h"
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

// Between the member's wish and another's.
struct Precedence {
  bool yields = false;
  bool catches = false;
};

Precedence PrecedenceOf(Member& member, const Audience& audience,
                        const Planner& planner, std::int64_t now_nanos) {
  Precedence found;
  const auto own = planner.WishOf(member, now_nanos);
  if (!own.has_value()) return found;
  for (const auto& other : audience) {
    const auto wish = planner.WishOf(*other, now_nanos);
    if (!wish.has_value()) continue;
    found.yields |= wish->claims && GivesWay(*own, *wish);
    found.catches |= own->claims && GivesWay(*wish, *own);
  }
  return found;
}

Standing StandingOf(Member& member, std::uint64_t behind,
                    const Audience& audience, const Planner& planner,
                    std::int64_t now_nanos) {
  const Precedence precedence =
      PrecedenceOf(member, audience, planner, now_nanos);
  if (precedence.catches) return Standing::kCatching;
  if (precedence.yields) return Standing::kYielding;
  const Cursor& cursor = member.cursor();
  const BatchKey next = cursor.next();
  if (behind > member.terms().slots * cursor.SamplesOf(next) &&
      planner.IsThere(next))
    return Standing::kTrailing;
  const bool shares =
      std::any_of(audience.begin(), audience.end(), [&](const auto& other) {
        return other.get() != &member && other->cursor().running() &&
               AreTogether(member, *other);
      });
  return shares ? Standing::kTogether : Standing::kApart;
}

}  // namespace

Comparison Compare(Member& member, const Audience& audience,
                   const Planner& planner, std::int64_t now_nanos) {
  Comparison comparison{.running =
                            static_cast<std::uint32_t>(audience.Running())};
  if (!member.cursor().running() || comparison.running < 2) return comparison;
  const Position own = PositionOf(member.cursor());
  for (const auto& other : audience) {
    if (!other->cursor().running()) continue;
    comparison.behind =
        std::max(comparison.behind, Gap(own, PositionOf(other->cursor())));
  }
  comparison.standing =
      StandingOf(member, comparison.behind, audience, planner, now_nanos);
  return comparison;
}

}  // namespace forebay::stream
