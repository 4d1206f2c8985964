#ifndef FOREBAY_SERVER_JOB_LOADER_H_
#define FOREBAY_SERVER_JOB_LOADER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"
#include "server/job/job_snapshot.h"
#include "server/job/placement.h"
#include "server/pipeline/pipeline.h"
#include "server/slots/channel.h"
#include "server/stream/stream.h"

namespace forebay::job {

// A `DataLoader` of a job: its rings, and the stream that feeds it and perhaps
// other loaders. The loader is one member of the stream.
//
// Thread-safe. The session that opened it owns it; the job only observes it.
// StartEpoch blocks while slots are made, and StopEpoch and Close while an
// epoch starts. ReleaseIdleMemory may block for processes of the job. All other
// methods do not block. Create returns RESOURCE_EXHAUSTED. StartEpoch's errors
// are those of Stream::Start and IndexList::Create. TakeReleases returns an
// error if the client breaks the contract.
class Loader {
 public:
  // The parts that a loader is made of. `pipeline` is null without images.
  struct Origin {
    std::shared_ptr<const dataset::Dataset> dataset;
    std::shared_ptr<const pipeline::Pipeline> pipeline;
    Placement placement;
    std::shared_ptr<stream::Stream> stream;
  };

  // Joins the stream as a new member, whose work is charged to `job`. The
  // budget outlives the loader.
  static absl::StatusOr<std::shared_ptr<Loader>> Create(
      const proto::LoaderSpec& spec, Origin origin, base::MemoryBudget* budget,
      JobId job);
  // Removes the member from the stream, and ends its leases.
  ~Loader();

  const std::string& name() const { return spec_.name(); }
  const dataset::Dataset& dataset() const { return *origin_.dataset; }
  const slots::Channel& channel() const { return *channel_; }
  const stream::SlotSize& slot_size() const {
    return origin_.stream->slot_size();
  }
  const Placement& placement() const { return origin_.placement; }
  // Returns the part of the pipeline that the trainer runs on its GPU; null if
  // there is none.
  const pipeline::Tail* tail() const;
  std::uint64_t samples_per_epoch() const {
    return origin_.stream->samples_per_epoch();
  }
  std::uint64_t batches_per_epoch() const {
    return origin_.stream->batches_per_epoch();
  }

  // Returns the stream, of which other loaders may be members too.
  const stream::Stream* stream() const { return origin_.stream.get(); }

  // Starts workers of the loader's process, as Stream::StartWorkers says.
  absl::StatusOr<base::Fd> StartWorkers(std::uint32_t most, bool are_persistent,
                                        const std::string& owner) {
    return origin_.stream->StartWorkers(member_, most, are_persistent, owner);
  }
  // Starts an epoch at `first_sample`. Returns descriptors of the slots, in
  // order; slots may be added during the epoch.
  //
  // `list` is a descriptor of sealed memory that contains numbers of samples;
  // it is invalid if the client sent none. If the order is LISTED, these are
  // the epoch's samples. If the order is COORDINATED, these are the samples of
  // this epoch that the client has already had.
  absl::StatusOr<std::vector<base::Fd>> StartEpoch(
      std::uint64_t epoch, std::uint64_t first_sample,
      const base::Fd& list = base::Fd());
  // Returns descriptors of the slots from number `first` on.
  absl::StatusOr<std::vector<base::Fd>> SlotsFrom(std::uint32_t first) const {
    return origin_.stream->SlotsFrom(member_, first);
  }
  // Ends the epoch. Returns how many entries the ready ring has had in all;
  // wraps at 2^32.
  std::uint32_t StopEpoch();
  // Gives back the memory that no lease needs. Afterwards no epoch can start.
  void Close();

  // Sets whether the job has a cap. Before the first call, the job counts as
  // one without a cap.
  void SetCapped(bool capped) { origin_.stream->SetCapped(member_, capped); }

  // Ends the leases that the client has released. Call it when
  // channel().event_fd() is readable.
  absl::Status TakeReleases();

  // Gives back memory that the stream does not need now. The slots are freed
  // when no epoch has run for `idle_nanos` and no slot is leased. May block for
  // processes of the job. Does nothing while another call runs.
  void ReleaseIdleMemory(std::int64_t idle_nanos);
  // Ends the leases that the client has released. Returns whether the client
  // still holds a batch, or can still take one.
  bool HasLeases();

  LoaderSnapshot Snapshot() const;
  // Returns a copy of the batch that was published last. UNAVAILABLE: no such
  // batch is cached now. RESOURCE_EXHAUSTED: the budget has no room for it.
  absl::StatusOr<PeekedBatch> Peek() const;

 private:
  Loader(proto::LoaderSpec spec, Origin origin, base::MemoryBudget* budget,
         std::unique_ptr<slots::Channel> channel, slots::MemberId member);

  const std::string uri_;         // the dataset's name, for people
  const proto::LoaderSpec spec_;  // without its dataset, which may be long
  const Origin origin_;
  base::MemoryBudget* const budget_;
  const std::unique_ptr<slots::Channel> channel_;
  const slots::MemberId member_;

  base::Mutex control_;  // held while an epoch starts or stops
  std::atomic<bool> rests_ = false;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_LOADER_H_
