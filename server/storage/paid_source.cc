#include "server/storage/paid_source.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "server/base/mutex.h"
#include "server/storage/new_ticket.h"

namespace forebay::storage {
namespace {

// The arguments of a call of ByteSource::Share. The calls are collected under
// the mutex, and made after it is released.
struct ShareCall {
  std::uint64_t ticket = 0;
  ReadPurpose purpose;
};

bool Contains(const std::vector<std::uint64_t>& jobs, std::uint64_t job) {
  return std::find(jobs.begin(), jobs.end(), job) != jobs.end();
}

PaidSource::Payers WithoutDuplicates(const std::vector<std::uint64_t>& jobs) {
  std::vector<std::uint64_t> distinct;
  for (const std::uint64_t job : jobs) {
    if (!Contains(distinct, job)) distinct.push_back(job);
  }
  return std::make_shared<const std::vector<std::uint64_t>>(
      std::move(distinct));
}

}  // namespace

// The payers and the reads in flight. Thread-safe; shared with the reads'
// `done`, which may outlive the source.
//
// A read is known here from Begin on, but the source below knows the read's
// ticket only once Read of that source has returned. For jobs that begin to pay
// in between, NoteSent returns the calls of Share to make.
class PaidSource::InFlight {
 public:
  explicit InFlight(std::uint64_t job) : payers_(WithoutDuplicates({job})) {}

  Payers payers() const {
    base::MutexLock lock(&mutex_);
    return payers_;
  }

  // Notes a read that is about to be sent, and sets the payers in its purpose.
  void Begin(std::uint64_t ticket, ReadPurpose* purpose) {
    base::MutexLock lock(&mutex_);
    purpose->job = payers_->front();
    purpose->payers = payers_->size() == 1 ? nullptr : payers_;
    reads_[ticket] = {.urgency = purpose->urgency, .jobs = *payers_};
  }

  // Notes that the source below has these reads, so that Share finds them.
  // Returns the calls for jobs that have come since Begin.
  std::vector<ShareCall> NoteSent(const std::vector<std::uint64_t>& tickets) {
    std::vector<ShareCall> calls;
    base::MutexLock lock(&mutex_);
    for (const std::uint64_t ticket : tickets) {
      const auto read = reads_.find(ticket);
      if (read == reads_.end()) continue;
      read->second.is_sent = true;
      AddCallsLocked(ticket, read->second, &calls);
    }
    return calls;
  }

  // Forgets a read whose result has come.
  void End(std::uint64_t ticket) {
    base::MutexLock lock(&mutex_);
    reads_.erase(ticket);
  }

  // Returns the calls by which new payers share the reads in flight.
  std::vector<ShareCall> SetPayers(Payers payers) {
    std::vector<ShareCall> calls;
    base::MutexLock lock(&mutex_);
    payers_ = std::move(payers);
    for (auto& [ticket, read] : reads_) AddCallsLocked(ticket, read, &calls);
    return calls;
  }

 private:
  // A read in flight, and the jobs that it is charged to.
  struct Read {
    std::uint64_t urgency = 0;
    // The jobs that pay for the read now, or paid for it earlier: no job is
    // added twice.
    std::vector<std::uint64_t> jobs;
    // Whether the source below knows the read's ticket.
    bool is_sent = false;
  };

  // Adds the calls by which the payers that are new to `read` join it.
  void AddCallsLocked(std::uint64_t ticket, Read& read,
                      std::vector<ShareCall>* calls)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!read.is_sent) return;
    for (const std::uint64_t job : *payers_) {
      if (Contains(read.jobs, job)) continue;
      read.jobs.push_back(job);
      calls->push_back({ticket, {.job = job, .urgency = read.urgency}});
    }
  }

  mutable base::Mutex mutex_;
  Payers payers_ ABSL_GUARDED_BY(mutex_);
  // The reads in flight, by ticket.
  absl::flat_hash_map<std::uint64_t, Read> reads_ ABSL_GUARDED_BY(mutex_);
};

PaidSource::PaidSource(ByteSource* below, std::uint64_t job)
    : below_(below), job_(job), in_flight_(std::make_shared<InFlight>(job)) {}

PaidSource::Payers PaidSource::payers() const { return in_flight_->payers(); }

void PaidSource::Read(absl::Span<ReadRequest> requests) {
  std::vector<std::uint64_t> tickets;
  for (ReadRequest& request : requests) {
    if (request.ticket == 0) request.ticket = NewTicket();
    tickets.push_back(request.ticket);
    in_flight_->Begin(request.ticket, &request.purpose);
    request.done =
        [in_flight = in_flight_, ticket = request.ticket,
         done = std::move(request.done)](absl::StatusOr<ReadResult> result) {
          in_flight->End(ticket);
          done(std::move(result));
        };
  }
  below_->Read(requests);
  for (const ShareCall& call : in_flight_->NoteSent(tickets))
    below_->Share(call.ticket, call.purpose);
}

void PaidSource::SetPayers(const std::vector<std::uint64_t>& jobs) {
  if (jobs.empty()) return;
  for (const ShareCall& call : in_flight_->SetPayers(WithoutDuplicates(jobs)))
    below_->Share(call.ticket, call.purpose);
}

}  // namespace forebay::storage
