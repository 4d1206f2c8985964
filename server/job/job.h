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
#include "server/job/loader.h"
#include "server/job/snapshot.h"

namespace forebay::job {

// One training run: its processes, and the loaders that they have open.
// Thread-safe. Shared by the registry and the attachments; does not own
// loaders. Never blocks; no errors.
class Job {
 public:
  Job(JobId id, std::uint32_t uid, std::string key)
      : id_(id), uid_(uid), key_(std::move(key)) {}

  JobId id() const { return id_; }
  std::uint32_t uid() const { return uid_; }
  const std::string& key() const { return key_; }

  // Takes the name and weight that an attaching process gives. Returns the
  // weight that is in force.
  double Describe(std::string name, double weight);
  // Applies a change for as long as the job lives. TellCapped is to follow.
  void Change(const JobChange& change);
  // Tells the loaders whether the job has a cap, of reading or of CPU time.
  void TellCapped();
  void AddProcess(std::uint32_t pid);
  // Returns whether that was the last one.
  bool RemoveProcess(std::uint32_t pid);

  // Returns "loader N", for a loader without a name.
  std::string NextLoaderName();
  // Adds a loader, and tells it whether the job has a cap.
  void AddLoader(const std::shared_ptr<Loader>& loader);
  std::vector<std::shared_ptr<Loader>> Loaders() const;

  // Notes that a process waits for an answer. Returns the note's number.
  std::uint64_t AddPending(PendingRequest request);
  // Says more of the request of that number.
  void DescribePending(std::uint64_t number, std::string uri, std::string host);
  void RemovePending(std::uint64_t number);

  std::string name() const;
  JobSnapshot Snapshot() const;

 private:
  bool IsCapped() const;

  const JobId id_;
  const std::uint32_t uid_;
  const std::string key_;

  // Held while loaders are told, so that the latest state is told last.
  base::Mutex telling_;

  mutable base::Mutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  double weight_ ABSL_GUARDED_BY(mutex_) = 1;  // from the last attachment
  JobChange changes_ ABSL_GUARDED_BY(mutex_);  // all so far
  std::map<std::uint32_t, int> attached_ ABSL_GUARDED_BY(mutex_);  // by pid
  int loaders_named_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<Loader>> loaders_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_pending_ ABSL_GUARDED_BY(mutex_) = 0;
  // By number, so that the oldest comes first.
  std::map<std::uint64_t, PendingRequest> pending_ ABSL_GUARDED_BY(mutex_);
};

// Shows a request among those that its job waits for, as long as this object
// lives. Thread-safe; shares the job. Never blocks; no errors.
class PendingNote {
 public:
  PendingNote(std::shared_ptr<Job> job, PendingRequest request)
      : job_(std::move(job)), number_(job_->AddPending(std::move(request))) {}
  ~PendingNote() { job_->RemovePending(number_); }
  PendingNote(const PendingNote&) = delete;
  PendingNote& operator=(const PendingNote&) = delete;

  // Says what the request is about, once that is known.
  void Describe(std::string uri, std::string host) {
    job_->DescribePending(number_, std::move(uri), std::move(host));
  }

 private:
  const std::shared_ptr<Job> job_;
  const std::uint64_t number_;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_JOB_H_
