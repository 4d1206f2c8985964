#ifndef FOREBAY_SERVER_JOB_REGISTRY_H_
#define FOREBAY_SERVER_JOB_REGISTRY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/catalog.h"
#include "server/dataset/composed/composer.h"
#include "server/dataset/composed/dataset_inputs.h"
#include "server/fetch/sample_reader.h"
#include "server/job/control.h"
#include "server/job/coordinator_directory.h"
#include "server/job/job.h"
#include "server/job/loader.h"
#include "server/job/snapshot.h"
#include "server/job/stream_directory.h"
#include "server/storage/byte_source.h"
#include "server/stream/stream_spec.h"

namespace forebay::job {

class Registry;

// One process's part in a job, for as long as this object lives. The registry
// must outlive it. Thread-safe. OpenLoader and OpenReader block while the
// dataset is scanned, but not for long once their stop is requested.
class Attachment {
 public:
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // The loader is the caller's; the job sees it as long as it lives. Errors:
  // INVALID_ARGUMENT (a part of the spec; names it) and the dataset room's own,
  // among them CANCELLED (stopped).
  absl::StatusOr<std::shared_ptr<Loader>> OpenLoader(
      proto::LoaderSpec spec, const dataset::composed::DatasetInputs& inputs,
      const std::stop_token& stop);

  // Likewise what gives single samples. `decode`: whether images come as
  // pixels, by the spec's pipeline, or whole if that has no ops.
  absl::StatusOr<std::unique_ptr<fetch::SampleReader>> OpenReader(
      const proto::LoaderSpec& spec,
      const dataset::composed::DatasetInputs& inputs, bool decode,
      const std::stop_token& stop);

 private:
  friend class Registry;
  Attachment(Registry* registry, std::shared_ptr<Job> job, std::uint32_t pid)
      : registry_(registry), job_(std::move(job)), pid_(pid) {}

  Registry* const registry_;
  const std::shared_ptr<Job> job_;
  const std::uint32_t pid_;
};

// All jobs of the host. A job lives as long as an attachment to it does.
// Thread-safe. Owns nothing but the books: attachments and loaders belong to
// sessions; catalog and deps to the daemon, and outlive it. Attach,
// Introspection and Control do not block. Errors: INVALID_ARGUMENT (an identity
// that is none), and those of Introspection and Control.
class Registry final : public Introspection, public Control {
 public:
  Registry(dataset::Catalog* catalog, stream::StreamDeps deps)
      : deps_(std::move(deps)), datasets_(catalog, deps_.budget) {}

  // A job is known by uid and key. Its weight is that of the last who attached,
  // unless it was set.
  absl::StatusOr<std::unique_ptr<Attachment>> Attach(
      const proto::JobIdentity& identity, std::uint32_t uid, std::uint32_t pid);

  // The budget that counts all that it hands out.
  base::MemoryBudget* budget() const { return deps_.budget; }

  // Gives back the slots of streams that have run no epoch for so long. May
  // block a little.
  void ReclaimIdle(std::int64_t idle_nanos);

  // Bytes of all slots that there are now.
  std::uint64_t SlotBytes() const;

  // What went wrong lately without harm, a sentence each, for `forebayctl
  // doctor`.
  std::vector<std::string> Warnings() const;

  std::vector<JobSnapshot> Snapshot() const override;
  absl::StatusOr<PeekedBatch> Peek(const std::string& job,
                                   const std::string& loader) const override;
  absl::Status Change(const std::string& job, const JobChange& change) override;

 private:
  friend class Attachment;
  using Key = std::pair<std::uint32_t, std::string>;  // uid, key

  absl::StatusOr<std::shared_ptr<const dataset::Dataset>> OpenDataset(
      const dataset::composed::DatasetInputs& inputs,
      const proto::DatasetSpec& spec, const std::stop_token& stop);
  absl::StatusOr<std::shared_ptr<stream::Stream>> StreamFor(
      std::uint32_t uid, const proto::LoaderSpec& spec,
      stream::StreamSpec stream_spec);
  // Gives the loader that the stream is for a member at the
  // coordinator of its kind. RESOURCE_EXHAUSTED: no memory for it.
  absl::Status Coordinate(std::uint32_t uid, stream::StreamSpec* stream_spec);
  void Detach(const std::shared_ptr<Job>& job, std::uint32_t pid);
  std::vector<std::shared_ptr<Job>> Jobs() const;
  // The job with this key or, if none has it, this name: as Control says.
  absl::StatusOr<std::shared_ptr<Job>> FindLocked(const std::string& job) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ApplyWeight(const Job& job, double weight);
  // Tells the job's loaders whether it has a cap: after a change, and once more
  // when one was opened.
  void TellCapped(const Job& job);

  const stream::StreamDeps deps_;
  StreamDirectory streams_;
  dataset::composed::Composer datasets_;
  CoordinatorDirectory coordinators_;

  // Held while loaders are told, so that the latest is what they hear last.
  base::Mutex telling_;

  mutable base::Mutex mutex_;
  std::map<Key, std::shared_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  schedule::Flow last_flow_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_REGISTRY_H_
