#include "server/stream/member.h"

#include "absl/strings/str_cat.h"

namespace forebay::stream {

void Member::StartEpoch(std::uint64_t first_sample) {
  Account();  // what was taken of the epoch before
  counters_.position = first_sample;
}

void Member::Publish(const proto::ReadyEntry& entry, std::uint64_t bytes) {
  const bool batch = entry.kind == proto::ReadyKind::kBatch;
  untaken_.push_back(
      {.batch = batch, .samples = entry.sample_count, .bytes = bytes});
  channel_->Publish(entry);
}

void Member::PublishEnd(std::uint64_t epoch) {
  Publish({.kind = proto::ReadyKind::kEndOfEpoch,
           .slot = 0,
           .generation = 0,
           .reserved = 0,
           .sample_count = 0,
           .epoch = epoch},
          0);
}

void Member::PublishError(const absl::Status& error, std::uint64_t epoch) {
  untaken_.push_back({});
  channel_->PublishError(error, epoch);
}

absl::Status Member::TakeReleases(arena::SlotPool* pool) {
  Account();
  while (releases_.ok()) {
    const auto release = channel_->TakeRelease();
    if (!release.has_value()) break;
    if (pool == nullptr ||
        !pool->Release(release->slot, release->generation, holder_)) {
      releases_ = absl::InvalidArgumentError(
          absl::StrCat("a release of slot ", release->slot,
                       " that the client does not hold"));
    }
  }
  if (releases_.ok() && channel_->corrupt()) {
    releases_ = absl::InvalidArgumentError("a release ring that holds garbage");
  }
  return releases_;
}

const MemberCounters& Member::Account() {
  const std::uint32_t taken = channel_->Telling().taken;
  while (!untaken_.empty() && taken_ != taken) {
    const Delivery& delivery = untaken_.front();
    counters_.samples_delivered += delivery.samples;
    counters_.position += delivery.samples;
    counters_.bytes_delivered += delivery.bytes;
    counters_.batches_delivered += delivery.batch;
    untaken_.pop_front();
    ++taken_;
  }
  counters_.ready = 0;
  for (const Delivery& delivery : untaken_) counters_.ready += delivery.batch;
  return counters_;
}

}  // namespace forebay::stream
