#include "server/storage/http/request_ledger.h"

#include <algorithm>

namespace forebay::storage::http {

RequestCounts& RequestCounts::operator+=(const RequestCounts& other) {
  requests += other.requests;
  retries += other.retries;
  hedges += other.hedges;
  failures += other.failures;
  bytes += other.bytes;
  return *this;
}

void RequestLedger::Book(std::uint64_t job, RequestKind kind,
                         const RequestCounts& counts) {
  base::MutexLock lock(&mutex_);
  JobRequests& of = jobs_[job];
  (kind == RequestKind::kGet    ? of.gets
   : kind == RequestKind::kList ? of.lists
                                : of.others) += counts;
}

JobRequests RequestLedger::Of(std::uint64_t job) const {
  base::MutexLock lock(&mutex_);
  const auto found = jobs_.find(job);
  JobRequests of = found == jobs_.end() ? JobRequests() : found->second;
  of.job = job;
  return of;
}

std::vector<JobRequests> RequestLedger::Snapshot() const {
  std::vector<JobRequests> all;
  {
    base::MutexLock lock(&mutex_);
    for (const auto& [job, requests] : jobs_) {
      all.push_back(requests);
      all.back().job = job;
    }
  }
  std::sort(
      all.begin(), all.end(),
      [](const JobRequests& a, const JobRequests& b) { return a.job < b.job; });
  return all;
}

void RequestLedger::Forget(schedule::Flow job) {
  base::MutexLock lock(&mutex_);
  const auto gone = jobs_.extract(job);
  if (gone.empty()) return;
  JobRequests& rest = jobs_[0];
  rest.gets += gone.mapped().gets;
  rest.lists += gone.mapped().lists;
  rest.others += gone.mapped().others;
}

}  // namespace forebay::storage::http
