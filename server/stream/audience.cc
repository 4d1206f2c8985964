#include "server/stream/audience.h"

#include <algorithm>

#include "server/cache/next_use.h"

namespace forebay::stream {

Member& Audience::Join(arena::Channel* channel, const Member::Terms& terms) {
  members_.push_back(
      std::make_unique<Member>(++last_, channel, terms, batch_, forecasts_));
  channel->SetLooking(looking_);
  return *members_.back();
}

void Audience::Remove(arena::Holder member) {
  std::erase_if(members_, [&](const std::unique_ptr<Member>& m) {
    return m->holder() == member;
  });
}

Member* Audience::Find(arena::Holder member) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(),
                   [&](const auto& m) { return m->holder() == member; });
  return found == members_.end() ? nullptr : found->get();
}

std::size_t Audience::Running() const {
  return static_cast<std::size_t>(std::count_if(
      members_.begin(), members_.end(),
      [](const auto& member) { return member->cursor().running(); }));
}

std::vector<schedule::Flow> Audience::Flows() const {
  std::vector<schedule::Flow> flows;
  for (const std::unique_ptr<Member>& member : members_) {
    const schedule::Flow flow = member->terms().flow;
    if (member->cursor().running() &&
        std::find(flows.begin(), flows.end(), flow) == flows.end())
      flows.push_back(flow);
  }
  return flows;
}

std::int64_t Audience::NanosUntil(const BatchKey& key,
                                  std::int64_t now_nanos) const {
  std::int64_t first = cache::kNever;
  for (const std::unique_ptr<Member>& member : members_)
    first = std::min(first, member->NanosUntil(key, now_nanos));
  return first;
}

bool Audience::AwaitsSoon(const BatchKey& key, std::int64_t now_nanos) const {
  // Of a pause so long nobody knows when it ends.
  constexpr std::int64_t kStandstillNanos = 1'000'000'000;
  return std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
    return member->cursor().BatchesUntil(key).has_value() &&
           member->LatenessAt(now_nanos) < kStandstillNanos;
  });
}

bool Audience::SetLooking(bool looking) {
  if (looking == looking_) return false;
  looking_ = looking;
  for (const auto& member : members_) member->channel()->SetLooking(looking);
  return true;
}

void Audience::TakeReleases(arena::SlotPool& pool) {
  for (const std::unique_ptr<Member>& member : members_) {
    if (!member->TakeReleases(pool).ok()) member->channel()->RaiseEvent();
  }
}

}  // namespace forebay::stream
