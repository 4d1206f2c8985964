#include "server/stream/member.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/cache/next_use.h"
#include "server/worker/pool_lack.h"

namespace forebay::stream {
namespace {

// Returns the nanoseconds between two values of a client's counter; 0 if they
// are impossible, for the client may write anything.
std::int64_t Between(std::uint64_t before, std::uint64_t after) {
  return after < before || after > INT64_MAX
             ? 0
             : static_cast<std::int64_t>(after - before);
}

}  // namespace

Member::Member(slots::MemberId id, slots::Channel* channel, const Terms& terms,
               const BatchOptions& batch, const NextUseDeps& next_use_deps)
    : id_(id),
      channel_(channel),
      terms_(terms),
      cursor_(batch),
      depth_(terms.slots),
      next_use_(std::make_shared<EpochNextUse>(next_use_deps.dataset->size())),
      registrations_(next_use_deps.next_use_registry, next_use_deps.dataset,
                     next_use_) {}

void Member::Start(std::shared_ptr<const EpochPair> epochs,
                   std::uint64_t first_sample, std::int64_t now_nanos) {
  // Books what the client has taken of the previous epoch.
  Account();
  for (PublishedEntry& entry : untaken_) entry.earlier = true;
  position_ = first_sample;
  next_use_->Start(epochs, first_sample, now_nanos);
  cursor_.Start(std::move(epochs), first_sample);
  pace_.StartEpoch();
  depth_.StartEpoch();
  starves_ = true;
}

void Member::Stop() {
  Account();
  // The client skips the rest of what was published.
  for (PublishedEntry& entry : untaken_) entry.earlier = true;
  cursor_.Stop();
  next_use_->Pause();
}

void Member::Publish(const CompletedBatch& batch, std::uint32_t generation,
                     std::int64_t now_nanos) {
  cursor_.Advance();
  pace_.Published(batch.samples, now_nanos);
  depth_.Published(batch.make_nanos, now_nanos);
  untaken_.push_back({.batch = true,
                      .slot = batch.slot,
                      .generation = generation,
                      .samples = batch.samples,
                      .bytes = batch.bytes});
  channel_->Publish({.kind = proto::ReadyKind::kBatch,
                     .slot = batch.slot,
                     .generation = generation,
                     .reserved = 0,
                     .sample_count = batch.samples,
                     .epoch = batch.key.epoch});
}

void Member::Close(const absl::Status& status) {
  cursor_.Stop();
  if (!status.ok()) next_use_->Pause();
  untaken_.push_back({});
  if (!status.ok()) {
    const bool is_others = !owns_worker_pool_ && worker::IsPoolLack(status);
    channel_->PublishError(
        is_others ? absl::AbortedError(absl::StrCat(
                        "the processes that run the dataset's code are another "
                        "loader's: ",
                        std::string(status.message())))
                  : status,
        cursor_.epoch());
    return;
  }
  channel_->Publish({.kind = proto::ReadyKind::kEndOfEpoch,
                     .slot = 0,
                     .generation = 0,
                     .reserved = 0,
                     .sample_count = 0,
                     .epoch = cursor_.epoch()});
}

std::uint32_t Member::PayAtMost(std::uint32_t slots) {
  const std::uint32_t ended = terms_.slots - std::min(terms_.slots, slots);
  terms_.slots -= ended;
  return ended;
}

absl::Status Member::TakeReleases(slots::SlotPool& pool) {
  // `left` is read before the counter of taken entries: once the client has
  // left, that counter is final.
  const bool left = channel_->client_report().left;
  Account();
  left_ = left_ || left;
  if (left_) GiveBackUntaken(pool);
  while (releases_.ok()) {
    const auto release = channel_->TakeRelease();
    if (!release.has_value()) break;
    if (!pool.Release(release->slot, release->generation, id_)) {
      releases_ = absl::InvalidArgumentError(
          absl::StrCat("a release of slot ", release->slot,
                       " that the client does not hold"));
    }
    ++released_;
  }
  if (releases_.ok() && channel_->corrupt()) {
    releases_ = absl::InvalidArgumentError("a release ring that holds garbage");
  }
  return releases_;
}

void Member::GiveBackUntaken(slots::SlotPool& pool) {
  for (const PublishedEntry& entry : untaken_) {
    if (!entry.batch) continue;
    pool.Release(entry.slot, entry.generation, id_);
    ++released_;
  }
  untaken_.clear();
  ready_ = 0;
}

void Member::SetLooking(bool looks) {
  if (std::exchange(is_looked_at_, looks) != looks) channel_->SetLooking(looks);
}

std::uint32_t Member::Account() {
  const auto known = static_cast<std::uint32_t>(taken_count_);
  const std::uint32_t taken =
      left_ ? known : channel_->client_report().taken_count;
  while (!untaken_.empty() &&
         static_cast<std::uint32_t>(taken_count_) != taken) {
    const PublishedEntry& entry = untaken_.front();
    counters_.set_samples_delivered(counters_.samples_delivered() +
                                    entry.samples);
    if (!entry.earlier) position_ += entry.samples;
    counters_.set_bytes_delivered(counters_.bytes_delivered() + entry.bytes);
    counters_.set_batches_delivered(counters_.batches_delivered() +
                                    entry.batch);
    untaken_.pop_front();
    ++taken_count_;
  }
  ready_ = 0;
  for (const PublishedEntry& entry : untaken_) ready_ += entry.batch;
  return ready_;
}

std::int64_t Member::LookAtWait() {
  const std::uint64_t waited = channel_->client_report().wait_nanos;
  return Between(std::exchange(waited_at_look_, waited), waited);
}

std::int64_t Member::WaitedForWorkerPool() const {
  if (ready_ > 0) return 0;
  return Between(waited_at_work_, channel_->client_report().wait_nanos);
}

bool Member::Starves(std::int64_t now_nanos) const {
  // This time is far longer than a waiting trainer takes to pick a batch up.
  constexpr std::int64_t kPromptNanos = 50'000'000;
  const auto published = pace_.published_at_nanos();
  // Ready entries left over from the previous epoch do not help the trainer,
  // which skips them. A member that has published nothing in this epoch
  // therefore starves.
  return starves_ && (ready_ == 0 || !published.has_value() ||
                      now_nanos - *published < kPromptNanos);
}

std::uint64_t Member::UrgencyAt(std::uint64_t position) const {
  return pace_.Urgency(position - std::min(position, position_));
}

std::int64_t Member::IdleAt(std::int64_t now_nanos) const {
  // A member without a ready batch does not idle.
  if (!pace_.published_at_nanos().has_value() || ready_ == 0) return 0;
  return std::max<std::int64_t>(0, now_nanos - *pace_.published_at_nanos());
}

std::int64_t Member::ExplainedIdle(std::int64_t idle_nanos) const {
  const BatchKey after = cursor_.After(cursor_.next());
  return std::min(idle_nanos, TimeOf(after.first_sample - position_));
}

bool Member::StandsStill(std::int64_t now_nanos) const {
  // A member stands still if it is later than its pace explains, by more than a
  // preemption on a busy host and by more than a few of its steps.
  constexpr std::int64_t kHiccupNanos = 100'000'000;
  constexpr std::uint64_t kSteps = 8;
  const std::int64_t idle = IdleAt(now_nanos);
  const std::uint64_t step = cursor_.SamplesOf(cursor_.next());
  return idle > 0 && idle - ExplainedIdle(idle) >
                         std::max(kHiccupNanos, TimeOf(kSteps * step));
}

std::int64_t Member::NanosUntil(const BatchKey& key,
                                std::int64_t now_nanos) const {
  if (!cursor_.BatchesUntil(key).has_value()) return cache::kNever;
  const std::int64_t until = TimeOf(key.first_sample - position_);
  const std::int64_t idle = IdleAt(now_nanos);
  const std::int64_t explained = idle == 0 ? 0 : ExplainedIdle(idle);
  return std::max<std::int64_t>(0, until - explained) + idle - explained;
}

}  // namespace forebay::stream
