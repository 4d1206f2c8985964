#ifndef FOREBAY_SERVER_JOB_JOB_H_
#define FOREBAY_SERVER_JOB_JOB_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/job/control.h"
#include "server/job/job_snapshot.h"
#include "server/job/loader.h"

namespace forebay::job {

// A training run: its processes, and the loaders that they have open.
// Thread-safe. Shared by the registry and the attachments; sessions own the
// loaders. Never blocks. Has no errors.
class Job {
 public:
  Job(JobId id, std::uint32_t uid, std::string key)
      : id_(id), uid_(uid), key_(std::move(key)) {}

  JobId id() const { return id_; }
  std::uint32_t uid() const { return uid_; }
  const std::string& key() const { return key_; }

  // Stores the name and weight that an attaching process gives. Returns the
  // weight that applies: `weight`, or the weight that Change has set.
  double Describe(std::string name, double weight);
  // Applies a change for as long as the job lives. Call TellCapped after it.
  void Change(const JobChange& change);
  // Tells the loaders whether the job has a cap, of reading or of CPU time.
  void TellCapped();
  // Adds an attachment of a process. A process may have several attachments.
  void AddProcess(std::uint32_t pid);
  // Removes an attachment of the process. Returns whether that was the job's
  // last attachment.
  bool RemoveProcess(std::uint32_t pid);

  // Returns "loader N", for a loader without a name.
  std::string NextLoaderName();
  // Adds a loader, and tells it whether the job has a cap.
  void AddLoader(const std::shared_ptr<Loader>& loader);
  // Returns the loaders that still exist.
  std::vector<std::shared_ptr<Loader>> Loaders() const;

  // Notes that a process waits for an answer. Returns the note's number.
  std::uint64_t AddPending(PendingRequest request);
  // Sets the place that the request of that number waits for.
  void DescribePending(std::uint64_t number, std::string uri, std::string host);
  // Removes the note: the request was answered, or its client left.
  void RemovePending(std::uint64_t number);

  std::string name() const;
  JobSnapshot Snapshot() const;

 private:
  // Returns whether a change has set a cap that still applies.
  bool IsCapped() const;

  const JobId id_;
  const std::uint32_t uid_;
  const std::string key_;

  // Held while loaders are told whether the job has a cap, so that each loader
  // is told the latest state last.
  base::Mutex telling_;

  mutable base::Mutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  double weight_ ABSL_GUARDED_BY(mutex_) = 1;  // from the last attachment
  JobChange changes_ ABSL_GUARDED_BY(mutex_);  // the last of each field
  // The number of attachments, by process.
  std::map<std::uint32_t, int> attached_ ABSL_GUARDED_BY(mutex_);
  int loaders_named_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<Loader>> loaders_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_pending_ ABSL_GUARDED_BY(mutex_) = 0;
  // The requests by number, so that the oldest comes first.
  std::map<std::uint64_t, PendingRequest> pending_ ABSL_GUARDED_BY(mutex_);
};

// Makes the job's snapshot show the request as one that waits for its answer,
// as long as this object lives. Thread-safe. Shares ownership of the job. Never
// blocks. Has no errors.
class PendingNote {
 public:
  PendingNote(std::shared_ptr<Job> job, PendingRequest request)
      : job_(std::move(job)), number_(job_->AddPending(std::move(request))) {}
  ~PendingNote() { job_->RemovePending(number_); }
  PendingNote(const PendingNote&) = delete;
  PendingNote& operator=(const PendingNote&) = delete;

  // Sets the place that the request waits for, once it is known.
  void Describe(std::string uri, std::string host) {
    job_->DescribePending(number_, std::move(uri), std::move(host));
  }

 private:
  const std::shared_ptr<Job> job_;
  const std::uint64_t number_;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_JOB_H_
