#include "server/storage/scheduled_source.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

// How reads pass: Read puts requests into the shared queue, which orders them
// by the shares of their jobs. Dispatch pops as many as the limits permit and
// sends them below in one call. Each read that completes makes room, so
// Complete dispatches, too.
//
// Only one thread is in Dispatch at a time (`dispatching_`), and it calls the
// source below without the mutex. Dispatch loops until nothing more may go, so
// a thread that finds `dispatching_` set may leave.
//
// A reader may share a read while Dispatch is about to send it: the source
// below does not know the ticket yet. Dispatch therefore shares every ticketed
// read again after it was sent. A reader that shares a read twice is charged
// once.

namespace forebay::storage {
namespace {

// Dispatch sends more once the source below has less than this part of its
// limits. Many reads at once wake its threads less often.
constexpr double kRefill = 0.75;
// The number of requests after which a stretch is measured. Fewer would measure
// noise; more would follow a change too late.
constexpr std::int64_t kStretchRequests = 256;
// The most bytes that a read is charged for. No source has checked the lengths
// of requests yet, and sums of them must not overflow.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;

// Returns the number of bytes that a read is charged for; 0 if the caller
// already has the bytes (`unless`), since such a read hardly ever brings any.
std::uint64_t BytesOf(const ReadRequest& request) {
  return request.unless.has_value() ? 0 : std::min(request.length, kMaxBytes);
}

}  // namespace

ScheduledSource::ScheduledSource(ByteSource* below,
                                 const ScheduledSourceOptions& options)
    : below_(below),
      options_(options),
      queue_(options.most_stalled),
      alarm_(
          "forebay-caps", [this] { Dispatch(); }, options.clock) {}

ScheduledSource::~ScheduledSource() {
  mutex_.Lock();
  ending_ = true;
  queue_.LiftCaps();
  for (;;) {
    if (auto left = queue_.Pop(Now())) {
      queue_.Complete(left->id, {}, Now());
      mutex_.Unlock();
      left->item.done(absl::CancelledError(
          absl::StrCat(left->item.object, ": the daemon is shutting down")));
      mutex_.Lock();
    } else if (under_way_ > 0 || dispatching_) {
      quiet_.Wait(&mutex_);
    } else {
      break;
    }
  }
  mutex_.Unlock();
}

void ScheduledSource::Read(absl::Span<ReadRequest> requests) {
  {
    base::MutexLock lock(&mutex_);
    for (ReadRequest& request : requests) {
      const ReadPurpose purpose = request.purpose;
      const std::uint64_t ticket = request.ticket;
      const schedule::Load load = LoadLocked(BytesOf(request));
      const Queue::Id id = queue_.PushFor(PayersOf(purpose), load,
                                          purpose.urgency, std::move(request));
      if (ticket != 0) tickets_[ticket] = {id, {}};
    }
  }
  Dispatch();
}

void ScheduledSource::Share(std::uint64_t ticket, const ReadPurpose& purpose) {
  {
    base::MutexLock lock(&mutex_);
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) return;
    for (const std::uint64_t payer : PayersOf(purpose))
      queue_.Share(found->second.id, payer, purpose.urgency);
    found->second.joined.push_back(purpose);
  }
  below_->Share(ticket, purpose);
  Dispatch();  // the new job may have no cap
}

void ScheduledSource::SetWeight(std::uint64_t job, double weight) {
  base::MutexLock lock(&mutex_);
  queue_.SetWeight(job, weight);
}

void ScheduledSource::SetCap(std::uint64_t job, double bytes_per_second) {
  {
    base::MutexLock lock(&mutex_);
    if (!ending_) queue_.SetCap(job, bytes_per_second, Now());
  }
  Dispatch();
}

void ScheduledSource::Forget(std::uint64_t job) {
  {
    base::MutexLock lock(&mutex_);
    queue_.Forget(job);
  }
  Dispatch();
}

SourceState ScheduledSource::State() const {
  base::MutexLock lock(&mutex_);
  return {.concurrency = options_.reads_at_once,
          .in_flight = queue_.in_flight(),
          .waiting = queue_.size(),
          .stalled = queue_.stalled(),
          .request_cost = request_cost_.bytes()};
}

void ScheduledSource::Dispatch() {
  {
    base::MutexLock lock(&mutex_);
    if (std::exchange(dispatching_, true)) return;
  }
  std::vector<ReadRequest> requests;
  std::vector<std::uint64_t> tickets;
  while (Take(&requests)) {
    for (const ReadRequest& request : requests) {
      if (request.ticket != 0) tickets.push_back(request.ticket);
    }
    below_->Read(absl::MakeSpan(requests));
    requests.clear();
    ShareAgain(tickets);
    tickets.clear();
  }
}

void ScheduledSource::ShareAgain(absl::Span<const std::uint64_t> tickets) {
  std::vector<std::pair<std::uint64_t, ReadPurpose>> shares;
  {
    base::MutexLock lock(&mutex_);
    for (const std::uint64_t ticket : tickets) {
      const auto found = tickets_.find(ticket);
      if (found == tickets_.end()) continue;
      for (const ReadPurpose& purpose : found->second.joined)
        shares.emplace_back(ticket, purpose);
    }
  }
  for (const auto& [ticket, purpose] : shares) below_->Share(ticket, purpose);
}

bool ScheduledSource::Take(std::vector<ReadRequest>* requests) {
  base::MutexLock lock(&mutex_);
  if (!ending_) {
    const std::int64_t now = Now();
    StallOverdueLocked(now);
    while (HasRoomLocked(requests->empty() ? kRefill : 1)) {
      std::optional<Queue::Popped> popped = queue_.Pop(now);
      if (!popped.has_value()) break;
      requests->push_back(BeginLocked(*std::move(popped), now));
    }
    if (const std::int64_t at = NextChangeLocked(); at != INT64_MAX)
      alarm_.SetFor(at);
  }
  if (!queue_.HasNext()) {
    stretch_.reset();
  } else if (!stretch_.has_value()) {
    stretch_ = Stretch{.begin_nanos = Now()};
  }
  dispatching_ = !requests->empty();
  if (!dispatching_ && ending_) quiet_.NotifyAll();
  return dispatching_;
}

bool ScheduledSource::HasRoomLocked(double part) const {
  const auto below = [part](auto value, auto limit) {
    return static_cast<double>(value) < part * static_cast<double>(limit);
  };
  return below(queue_.in_flight(), options_.reads_at_once) &&
         below(bytes_in_flight_, options_.bytes_at_once);
}

ReadRequest ScheduledSource::BeginLocked(Queue::Popped popped,
                                         std::int64_t now_nanos) {
  ReadRequest request = std::move(popped.item);
  in_flight_.push_back({.id = popped.id,
                        .ticket = request.ticket,
                        .bytes = BytesOf(request),
                        .begun_nanos = now_nanos,
                        .stalled = false,
                        .done = std::move(request.done)});
  const auto in_flight = std::prev(in_flight_.end());
  ++under_way_;
  bytes_in_flight_ += in_flight->bytes;
  request.done = [this, in_flight](absl::StatusOr<ReadResult> result) {
    Complete(in_flight, std::move(result));
  };
  return request;
}

void ScheduledSource::StallOverdueLocked(std::int64_t now_nanos) {
  while (!in_flight_.empty() && now_nanos - in_flight_.front().begun_nanos >=
                                    stall_threshold_.nanos()) {
    InFlightRead& overdue = in_flight_.front();
    overdue.stalled = true;
    queue_.Stall(overdue.id);
    bytes_in_flight_ -= overdue.bytes;
    stalled_.splice(stalled_.end(), in_flight_, in_flight_.begin());
  }
}

std::int64_t ScheduledSource::NextChangeLocked() const {
  if (!queue_.HasNext() || in_flight_.empty()) return queue_.NextAt();
  return std::min(queue_.NextAt(),
                  in_flight_.front().begun_nanos + stall_threshold_.nanos());
}

void ScheduledSource::Complete(InFlightReads::iterator in_flight,
                               absl::StatusOr<ReadResult> result) {
  InFlightReads completed;
  {
    base::MutexLock lock(&mutex_);
    completed.splice(completed.end(),
                     in_flight->stalled ? stalled_ : in_flight_, in_flight);
    const std::int64_t now = Now();
    // A failed read brought no bytes, and is charged for its request alone.
    const std::uint64_t read = result.ok() ? in_flight->bytes : 0;
    stall_threshold_.Observe(now - in_flight->begun_nanos);
    CountLocked(read, now);
    queue_.Complete(in_flight->id, LoadLocked(read), now);
    if (in_flight->ticket != 0) tickets_.erase(in_flight->ticket);
    if (!in_flight->stalled) bytes_in_flight_ -= in_flight->bytes;
  }
  Dispatch();
  in_flight->done(std::move(result));
  base::MutexLock lock(&mutex_);
  if (--under_way_ == 0 && ending_) quiet_.NotifyAll();
}

schedule::Load ScheduledSource::LoadLocked(std::uint64_t bytes) const {
  const auto units = static_cast<std::int64_t>(bytes);
  return {.cost = units + request_cost_.bytes(), .units = units};
}

void ScheduledSource::CountLocked(std::uint64_t bytes, std::int64_t now_nanos) {
  if (!stretch_.has_value()) return;
  stretch_->bytes += static_cast<std::int64_t>(bytes);
  if (++stretch_->requests < kStretchRequests) return;
  request_cost_.Observe(static_cast<double>(stretch_->requests),
                        static_cast<double>(stretch_->bytes),
                        static_cast<double>(now_nanos - stretch_->begin_nanos));
  stretch_ = Stretch{.begin_nanos = now_nanos};
}

}  // namespace forebay::storage
