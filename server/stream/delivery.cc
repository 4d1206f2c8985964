#include "server/stream/delivery.h"

namespace forebay::stream {

void Delivery::Deliver(std::int64_t now_nanos,
                       const std::function<void(const Member&)>& ended) {
  for (const auto& member : *audience_) {
    if (!member->cursor().running()) continue;
    const std::uint32_t ready = member->Account().ready;
    bool published = false;
    while (PublishNext(*member, now_nanos)) published = true;
    if (CloseIfOver(*member)) ended(*member);
    if (published) member->Delivered(ready);
  }
  stock_->DropFailures([this](const BatchKey& key) {
    return !audience_->WhoComesTo(key).empty();
  });
}

bool Delivery::PublishNext(Member& member, std::int64_t now_nanos) {
  const BatchKey key = member.cursor().next();
  const Finished* const next = stock_->Find(key);
  if (member.cursor().SamplesOf(key) == 0 || next == nullptr ||
      !next->status.ok() ||
      stock_->pool().Leases(member.holder()) >= member.terms().slots ||
      member.Account().ready >= member.depth().target())
    return false;
  stock_->pool().Lease(next->slot, member.holder());
  member.Publish(*next, stock_->pool().generation(next->slot), now_nanos);
  last_ = key;
  return true;
}

bool Delivery::CloseIfOver(Member& member) {
  const BatchKey key = member.cursor().next();
  if (member.cursor().SamplesOf(key) == 0) {
    member.Close(absl::OkStatus());
    return true;
  }
  const Finished* const next = stock_->Find(key);
  if (next == nullptr || next->status.ok()) return false;
  member.Close(next->status);
  return true;
}

}  // namespace forebay::stream
