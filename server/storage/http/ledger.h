#ifndef FOREBAY_SERVER_STORAGE_HTTP_LEDGER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_LEDGER_H_

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

struct RequestCounts {
  std::uint64_t requests = 0;  // that were made, with all of the following
  std::uint64_t retries = 0;   // because one before had failed
  std::uint64_t hedges = 0;    // because one before was slow
  std::uint64_t failures = 0;  // that brought no good answer
  std::uint64_t bytes = 0;     // of the bodies of answers

  RequestCounts& operator+=(const RequestCounts& other);
};

// The requests of a job so far.
struct JobRequests {
  std::uint64_t job = 0;  // 0: of no job in particular
  RequestCounts gets;
  RequestCounts lists;
  RequestCounts others;
};

// Counts all requests, by job. Of the jobs' shares it learns only their end.
// Thread-safe; never blocks for long. No errors.
class Ledger final : public schedule::JobShares {
 public:
  void Book(std::uint64_t job, RequestKind kind, const RequestCounts& counts);

  // Returns zeros for a job without requests.
  JobRequests Of(std::uint64_t job) const;
  // Returns all counts, in the order of the jobs' numbers.
  std::vector<JobRequests> Snapshot() const;

  // The job ended: moves its counts to job 0.
  void Forget(schedule::Flow job) override;

 private:
  mutable base::Mutex mutex_;
  std::unordered_map<std::uint64_t, JobRequests> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_LEDGER_H_
