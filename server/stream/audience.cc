#include "server/stream/audience.h"

#include <algorithm>
#include <cstdint>

#include "proto/shm_ring.h"

namespace forebay::stream {

arena::Holder Audience::Join(arena::Channel* channel) {
  members_.emplace_back(++last_, channel);
  channel->SetLooking(looking_);
  return last_;
}

void Audience::Remove(arena::Holder member) {
  std::erase_if(members_,
                [&](const Member& m) { return m.holder() == member; });
}

Member* Audience::Find(arena::Holder member) {
  const auto found =
      std::find_if(members_.begin(), members_.end(),
                   [&](const Member& m) { return m.holder() == member; });
  return found == members_.end() ? nullptr : &*found;
}

std::vector<arena::Holder> Audience::Holders() const {
  std::vector<arena::Holder> holders;
  for (const Member& member : members_) {
    holders.push_back(member.holder());
  }
  return holders;
}

std::size_t Audience::Untaken() {
  std::size_t most = 0;
  for (Member& member : members_) {
    member.Account();
    most = std::max(most, member.untaken());
  }
  return most;
}

std::size_t Audience::Ready() {
  std::size_t least = SIZE_MAX;
  for (Member& member : members_)
    least = std::min<std::size_t>(least, member.Account().ready);
  return members_.empty() ? 0 : least;
}

bool Audience::SetLooking(bool looking) {
  if (looking == looking_) return false;
  looking_ = looking;
  for (const Member& member : members_) member.channel()->SetLooking(looking);
  return true;
}

void Audience::TakeReleases(arena::SlotPool* pool) {
  for (Member& member : members_) {
    if (!member.TakeReleases(pool).ok()) member.channel()->RaiseEvent();
  }
}

void Audience::StartEpoch(std::uint64_t first_sample) {
  for (Member& member : members_) member.StartEpoch(first_sample);
}

bool Audience::Publish(const Batch& batch, const BatchLayout& layout,
                       arena::SlotPool& pool) {
  const std::vector<arena::Holder> holders = Holders();
  if (holders.empty()) {
    pool.Abandon(batch.slot);
    return false;
  }
  const std::uint64_t count = batch.places.size();
  const std::uint32_t generation = pool.generation(batch.slot);
  const std::uint64_t bytes =
      layout.Complete(batch.data, {.generation = generation,
                                   .sample_count = count,
                                   .epoch = batch.epoch,
                                   .first_sample = batch.first_sample});
  pool.Publish(batch.slot, holders);
  const proto::ReadyEntry entry = {.kind = proto::ReadyKind::kBatch,
                                   .slot = batch.slot,
                                   .generation = generation,
                                   .reserved = 0,
                                   .sample_count = count,
                                   .epoch = batch.epoch};
  for (Member& member : members_) member.Publish(entry, bytes);
  return true;
}

void Audience::Close(const absl::Status& status, std::uint64_t epoch) {
  for (Member& member : members_) {
    if (status.ok()) {
      member.PublishEnd(epoch);
    } else {
      member.PublishError(status, epoch);
    }
  }
}

}  // namespace forebay::stream
