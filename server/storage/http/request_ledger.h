#ifndef FOREBAY_SERVER_STORAGE_HTTP_REQUEST_LEDGER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_REQUEST_LEDGER_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/schedule/flow.h"
#include "server/schedule/job_shares.h"

namespace forebay::storage::http {

// The kinds of requests that servers charge for differently.
enum class RequestKind { kGet, kList, kOther };

// Counts of requests of one kind.
struct RequestCounts {
  // All requests that were made.
  std::uint64_t requests = 0;
  // The requests that were made because an earlier request had failed.
  std::uint64_t retries = 0;
  // The requests that were made because an earlier request was slow.
  std::uint64_t hedges = 0;
  // The requests that brought no good answer.
  std::uint64_t failures = 0;
  // The bytes of the bodies of answers.
  std::uint64_t bytes = 0;

  RequestCounts& operator+=(const RequestCounts& other);
};

// The requests of a job so far.
struct JobRequests {
  std::uint64_t job = 0;  // 0 for requests of no job in particular
  RequestCounts gets;
  RequestCounts lists;
  RequestCounts others;
};

// Counts all requests, by job. The ledger is a JobShares only to learn when a
// job ends.
//
// Thread-safe. The client owns it. Never blocks for long. No errors.
class RequestLedger final : public schedule::JobShares {
 public:
  // Adds `counts` to the counts of `job`.
  void Book(std::uint64_t job, RequestKind kind, const RequestCounts& counts);

  // Returns the counts of a job, which are zeros if it made no request.
  JobRequests Of(std::uint64_t job) const;
  // Returns the counts of all jobs, in the order of their numbers.
  std::vector<JobRequests> Snapshot() const;

  // Ends a job: its counts move to job 0.
  void Forget(schedule::Flow job) override;

 private:
  mutable base::Mutex mutex_;
  std::unordered_map<std::uint64_t, JobRequests> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_REQUEST_LEDGER_H_
