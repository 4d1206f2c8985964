#include "server/stream/publisher.h"

namespace forebay::stream {

void Publisher::Publish(std::int64_t now_nanos,
                        const std::function<void(const Member&)>& ended) {
  for (const auto& member : *members_) {
    if (!member->cursor().running()) continue;
    const std::uint32_t ready = member->Account();
    bool published = false;
    while (PublishNext(*member, now_nanos)) published = true;
    if (CloseIfOver(*member)) ended(*member);
    if (published) member->Delivered(ready);
  }
  batch_cache_->DropFailures([this](const BatchKey& key) {
    return !members_->ReadersOf(key).empty();
  });
}

bool Publisher::PublishNext(Member& member, std::int64_t now_nanos) {
  const BatchKey key = member.cursor().next();
  const CompletedBatch* const next = batch_cache_->Find(key);
  if (member.cursor().SamplesOf(key) == 0 || next == nullptr ||
      !next->StatusOn(member.device()).ok() ||
      batch_cache_->pool().Leases(member.id()) >= member.terms().slots ||
      member.Account() >= member.depth().target())
    return false;
  batch_cache_->pool().Lease(next->slot, member.id());
  member.Publish(*next, batch_cache_->pool().generation(next->slot), now_nanos);
  last_ = key;
  return true;
}

bool Publisher::CloseIfOver(Member& member) {
  const BatchKey key = member.cursor().next();
  if (member.cursor().SamplesOf(key) == 0) {
    member.Close(absl::OkStatus());
    return true;
  }
  const CompletedBatch* const next = batch_cache_->Find(key);
  if (next == nullptr || next->StatusOn(member.device()).ok()) return false;
  member.Close(next->StatusOn(member.device()));
  return true;
}

}  // namespace forebay::stream
