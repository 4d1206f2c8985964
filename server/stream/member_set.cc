#include "server/stream/member_set.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/cache/next_use.h"

namespace forebay::stream {

Member& MemberSet::Join(slots::Channel* channel, const Member::Terms& terms) {
  members_.push_back(std::make_unique<Member>(++last_, channel, terms, batch_,
                                              next_use_deps_));
  return *members_.back();
}

void MemberSet::Remove(slots::MemberId member) {
  std::erase_if(members_, [&](const std::unique_ptr<Member>& m) {
    return m->id() == member;
  });
}

Member* MemberSet::Find(slots::MemberId member) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(),
                   [&](const auto& m) { return m->id() == member; });
  return found == members_.end() ? nullptr : found->get();
}

std::uint64_t MemberSet::UrgencyOf(const Batch& batch) const {
  const Member* const payer = Find(batch.payer);
  return payer == nullptr ? 0 : payer->UrgencyAt(batch.key.first_sample);
}

proto::LoaderCounters& MemberSet::CountersOf(const PendingSample& pending) {
  Member* const payer = Find(PayerOf(pending));
  return payer == nullptr ? of_gone_ : payer->counters();
}

void MemberSet::Start(Member& member, std::shared_ptr<const EpochPair> epochs,
                      std::uint64_t first_sample, std::int64_t now_nanos) {
  // A member that was away gets no credit for batches made meanwhile: its
  // `served` is raised to that of the running member that was served least.
  std::optional<double> least_served;
  for (const std::unique_ptr<Member>& other : members_) {
    if (!other->cursor().running()) continue;
    was_shared_ = true;
    least_served =
        std::min(least_served.value_or(other->served), other->served);
  }
  member.served = std::max(member.served, least_served.value_or(0));
  member.Start(std::move(epochs), first_sample, now_nanos);
}

std::size_t MemberSet::Running() const {
  return static_cast<std::size_t>(std::count_if(
      members_.begin(), members_.end(),
      [](const auto& member) { return member->cursor().running(); }));
}

bool MemberSet::AnyOpen() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& member) { return !member->closed(); });
}

template <typename Is>
std::vector<schedule::Flow> MemberSet::FlowsOf(const Is& is) const {
  std::vector<schedule::Flow> flows;
  for (const std::unique_ptr<Member>& member : members_) {
    const schedule::Flow flow = member->terms().flow;
    if (is(*member) &&
        std::find(flows.begin(), flows.end(), flow) == flows.end())
      flows.push_back(flow);
  }
  return flows;
}

std::vector<schedule::Flow> MemberSet::Flows() const {
  return FlowsOf(
      [](const Member& member) { return member.cursor().running(); });
}

std::vector<schedule::Flow> MemberSet::CappedFlows(const BatchKey& key) const {
  const auto is_capped = [](const auto& member) { return member->capped; };
  if (std::none_of(members_.begin(), members_.end(), is_capped)) return {};
  const std::vector<slots::MemberId> readers = ReadersOf(key);
  const auto comes = [&](const Member& member) {
    return std::find(readers.begin(), readers.end(), member.id()) !=
           readers.end();
  };
  for (const auto& member : members_) {
    if (comes(*member) && !member->capped) return {};
  }
  return FlowsOf(comes);
}

std::int64_t MemberSet::NanosUntil(const BatchKey& key,
                                   std::int64_t now_nanos) const {
  std::int64_t first = cache::kNever;
  for (const std::unique_ptr<Member>& member : members_)
    first = std::min(first, member->NanosUntil(key, now_nanos));
  return first;
}

std::int64_t MemberSet::LookAtWaits() {
  std::int64_t longest = 0;
  for (const std::unique_ptr<Member>& member : members_) {
    const std::int64_t waited = member->LookAtWait();
    if (member->cursor().running()) longest = std::max(longest, waited);
  }
  return longest;
}

std::vector<slots::MemberId> MemberSet::ReadersOf(const BatchKey& key) const {
  std::vector<slots::MemberId> readers;
  for (const std::unique_ptr<Member>& member : members_) {
    const auto batches = member->cursor().BatchesUntil(key);
    if (batches.has_value() && *batches <= member->terms().slots)
      readers.push_back(member->id());
  }
  return readers;
}

bool MemberSet::AwaitsSoon(const BatchKey& key, std::int64_t now_nanos) const {
  return std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
    return member->cursor().BatchesUntil(key).has_value() &&
           !member->StandsStill(now_nanos);
  });
}

bool MemberSet::SetLooking(bool at_work) {
  bool ended = false;
  for (const auto& member : members_) {
    const bool looks = at_work && member->cursor().running();
    ended |= member->is_looked_at() && !looks;
    member->SetLooking(looks);
  }
  return ended;
}

void MemberSet::TakeReleases(slots::SlotPool& pool) {
  for (const std::unique_ptr<Member>& member : members_) {
    if (!member->TakeReleases(pool).ok()) member->channel()->RaiseEvent();
  }
}

std::uint64_t MemberSet::Heard() const {
  std::uint64_t heard = 0;
  for (const auto& member : members_) heard += member->heard();
  return heard;
}

}  // namespace forebay::stream
