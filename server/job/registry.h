#ifndef FOREBAY_SERVER_JOB_REGISTRY_H_
#define FOREBAY_SERVER_JOB_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/job.pb.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/catalog.h"
#include "server/dataset/composed/dataset_inputs.h"
#include "server/device/device_directory.h"
#include "server/fetch/object_reader.h"
#include "server/fetch/sample_reader.h"
#include "server/job/control.h"
#include "server/job/job.h"
#include "server/job/job_snapshot.h"
#include "server/job/loader.h"
#include "server/job/loader_opener.h"
#include "server/schedule/job_shares.h"
#include "server/stream/stream_spec.h"

namespace forebay::job {

// Makes one process part of a job, until Detach or destruction. Thread-safe.
// The caller owns it; the opener outlives it. The Open methods block and fail
// as LoaderOpener's do; all other methods do not block.
class Attachment {
 public:
  // Creates an attachment. Detach calls `detach`. Destruction calls `end`; no
  // call may be under way then.
  Attachment(std::shared_ptr<Job> job, std::uint32_t pid, LoaderOpener* opener,
             std::function<void()> detach, std::function<void()> end)
      : job_(std::move(job)),
        pid_(pid),
        opener_(opener),
        detach_(std::move(detach)),
        end_(std::move(end)) {}
  ~Attachment() {
    Detach();
    end_();
  }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  JobId job() const { return job_->id(); }
  // Returns the names of the job and the process, for messages.
  std::string name() const {
    return absl::StrCat("job ", job_->name(), " (process ", pid_, ")");
  }

  // Ends the process's part in the job, even if calls are still under way.
  void Detach() {
    if (!detached_.exchange(true)) detach_();
  }

  // Shows the request among those that the job waits for.
  std::unique_ptr<PendingNote> Note(PendingRequest request) const {
    return std::make_unique<PendingNote>(job_, std::move(request));
  }

  absl::StatusOr<std::shared_ptr<Loader>> OpenLoader(
      proto::LoaderSpec spec, const dataset::composed::DatasetInputs& inputs,
      const std::stop_token& stop) {
    return opener_->OpenLoader(*job_, std::move(spec), inputs, stop);
  }
  absl::StatusOr<std::unique_ptr<fetch::SampleReader>> OpenReader(
      const proto::LoaderSpec& spec,
      const dataset::composed::DatasetInputs& inputs, bool decode,
      std::vector<std::string>* warnings, const std::stop_token& stop) {
    return opener_->OpenReader(*job_, spec, inputs, decode, warnings, stop);
  }
  std::unique_ptr<fetch::ObjectReader> MakeObjectReader() const {
    return opener_->MakeObjectReader(*job_);
  }

 private:
  const std::shared_ptr<Job> job_;
  const std::uint32_t pid_;
  LoaderOpener* const opener_;
  const std::function<void()> detach_;
  const std::function<void()> end_;
  std::atomic<bool> detached_ = false;
};

// All jobs of the host. A job lives as long as a process is attached to it.
//
// Thread-safe. The daemon owns the registry, the catalog and all of `deps`. The
// catalog and `deps` outlive the registry. Sessions own attachments and
// loaders. Attach and the methods of Introspection and Control do not block.
// Attach fails only with INVALID_ARGUMENT, for a malformed identity.
// Introspection and Control document the errors of their methods.
class Registry final : public Introspection, public Control {
 public:
  // The sources and executors that jobs share; they outlive the registry.
  struct Shares {
    schedule::JobShares* reads = nullptr;
    schedule::JobShares* cpus = nullptr;
    // The GPUs; jobs share the copies to each. Null if no GPU is served.
    device::DeviceDirectory* devices = nullptr;
  };

  Registry(dataset::Catalog* catalog, stream::StreamDeps deps,
           const Shares& shares)
      : deps_(std::move(deps)),
        shares_(shares),
        opener_(catalog, deps_, shares.devices) {}

  // Attaches a process to the job of `uid` that has the identity's key. Creates
  // the job if it does not exist. A job's weight is that of the last
  // attachment, unless Change has set it.
  absl::StatusOr<std::unique_ptr<Attachment>> Attach(
      const proto::JobIdentity& identity, std::uint32_t uid, std::uint32_t pid);

  // Returns the budget of all memory that loaders take.
  base::MemoryBudget* budget() const { return deps_.budget; }

  // Gives back the slots of streams that have run no epoch for `idle_nanos`.
  // May block, for ever if a process of a job hangs. While one call waits for a
  // loader, later calls skip that loader.
  void ReclaimIdle(std::int64_t idle_nanos);

  // Returns how many bytes all slots that exist now take.
  std::uint64_t SlotBytes() const;

  // Returns LoaderOpener's warnings.
  std::vector<std::string> Warnings() const { return opener_.Warnings(); }

  std::vector<JobSnapshot> Snapshot() const override;
  absl::StatusOr<PeekedBatch> Peek(const std::string& job,
                                   const std::string& loader) const override;
  absl::Status Change(const std::string& job, const JobChange& change) override;

 private:
  using Key = std::pair<std::uint32_t, std::string>;  // uid, key

  // Ends a process's part in a job. Ends the job after its last process.
  void Detach(const std::shared_ptr<Job>& job, std::uint32_t pid);
  // Removes the shares of a job that has ended: calls that were under way when
  // the job ended may have created shares again.
  void End(const std::shared_ptr<Job>& job);
  // Removes the job's shares of all contended resources.
  void ForgetShares(JobId job);
  // Returns all jobs that exist now.
  std::vector<std::shared_ptr<Job>> Jobs() const;
  // Returns the job whose key is `job` or, if there is none, whose name is
  // `job`. Errors are those of Control.
  absl::StatusOr<std::shared_ptr<Job>> FindLocked(const std::string& job) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets the job's weight wherever jobs share a resource.
  void ApplyWeight(const Job& job, double weight);

  const stream::StreamDeps deps_;
  const Shares shares_;
  LoaderOpener opener_;

  mutable base::Mutex mutex_;
  std::map<Key, std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  JobId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_REGISTRY_H_
