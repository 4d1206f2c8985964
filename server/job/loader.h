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
#include "server/arena/channel.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"
#include "server/job/placement.h"
#include "server/job/snapshot.h"
#include "server/pipeline/pipeline.h"
#include "server/stream/stream.h"

namespace forebay::job {

// One `DataLoader` of a job, as one member reads it: its rings, and the stream
// that feeds it and perhaps other loaders.
//
// Thread-safe. The session that opened it owns it; the job only observes it.
// StartEpoch blocks while slots are made, StopEpoch and Close while an epoch
// starts; Rest as it says; nothing else blocks. Errors: Create's
// (no memory), StartEpoch's (see Stream::Start and IndexList::Create) and
// TakeReleases' (a client that breaks the contract).
class Loader {
 public:
  // Its origin: the stream's dataset and pipeline (null without images).
  struct Origin {
    std::shared_ptr<const dataset::Dataset> dataset;
    std::shared_ptr<const pipeline::Pipeline> pipeline;
    Placement placement;
    std::shared_ptr<stream::Stream> stream;
  };

  // The budget outlives the loader.
  static absl::StatusOr<std::shared_ptr<Loader>> Create(
      const proto::LoaderSpec& spec, Origin origin, base::MemoryBudget* budget,
      JobId job);
  // Ends the member and its leases.
  ~Loader();

  const std::string& name() const { return spec_.name(); }
  const dataset::Dataset& dataset() const { return *origin_.dataset; }
  const arena::Channel& channel() const { return *channel_; }
  const stream::SlotSize& slot_size() const {
    return origin_.stream->slot_size();
  }
  const Placement& placement() const { return origin_.placement; }
  // The work that is left for the trainer to do on images. Null: none.
  const pipeline::Tail* tail() const;
  std::uint64_t samples_per_epoch() const {
    return origin_.stream->samples_per_epoch();
  }
  std::uint64_t batches_per_epoch() const {
    return origin_.stream->batches_per_epoch();
  }

  // The stream, whose members other loaders may be too.
  const stream::Stream* stream() const { return origin_.stream.get(); }

  // As Stream::StartProducers.
  absl::StatusOr<base::Fd> StartProducers(std::uint32_t most,
                                          bool are_persistent,
                                          const std::string& owner) {
    return origin_.stream->StartProducers(member_, most, are_persistent, owner);
  }
  // Returns descriptors of the slots, in order; slots may be added during the
  // epoch. `list` is a descriptor of sealed memory, or invalid if there is
  // none. It has the epoch's samples if the order is LISTED, and those that
  // were seen of the epoch if it is coordinated.
  absl::StatusOr<std::vector<base::Fd>> StartEpoch(
      std::uint64_t epoch, std::uint64_t first_sample,
      const base::Fd& list = base::Fd());
  // Returns descriptors of the slots from number `first` on.
  absl::StatusOr<std::vector<base::Fd>> SlotsFrom(std::uint32_t first) const {
    return origin_.stream->SlotsFrom(member_, first);
  }
  // Ends production. Returns how many ready entries were published in all.
  std::uint32_t StopEpoch();
  // Gives back the memory that leases do without. No epoch is started after it.
  void Close();

  // Says whether the job has a cap. It has none until this is called.
  void SetCapped(bool capped) { origin_.stream->SetCapped(member_, capped); }

  // To be called when channel().event_fd() is readable.
  absl::Status TakeReleases();

  // Gives back memory that the stream does without. The slots go when no epoch
  // has run for `idle_nanos` and none is leased. May block for processes of the
  // job's. Does nothing while another call does.
  void Rest(std::int64_t idle_nanos);
  // Takes the member's releases. Returns whether it still holds a batch, or can
  // still take one.
  bool HasLeases();

  LoaderSnapshot Snapshot() const;
  absl::StatusOr<PeekedBatch> Peek() const;

 private:
  Loader(proto::LoaderSpec spec, Origin origin, base::MemoryBudget* budget,
         std::unique_ptr<arena::Channel> channel, arena::MemberId member);

  const std::string uri_;         // for people
  const proto::LoaderSpec spec_;  // without its dataset, which may be long
  const Origin origin_;
  base::MemoryBudget* const budget_;
  const std::unique_ptr<arena::Channel> channel_;
  const arena::MemberId member_;

  base::Mutex control_;  // held while an epoch starts or stops
  std::atomic<bool> rests_ = false;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_LOADER_H_
