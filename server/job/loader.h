#ifndef FOREBAY_SERVER_JOB_LOADER_H_
#define FOREBAY_SERVER_JOB_LOADER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/arena/channel.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"
#include "server/job/snapshot.h"
#include "server/stream/recipe.h"
#include "server/stream/stream.h"

namespace forebay::job {

// One `DataLoader` of a job, as one member reads it: the stream that feeds it,
// and the member's rings.
//
// Thread-safe. Owned by the session that opened it; shared with the job, which
// only looks. StartEpoch blocks while slots are made; nothing else does. Errors
// are StartEpoch's (see Stream::Start and IndexList::Create) and TakeReleases'
// (a client that breaks the contract).
class Loader {
 public:
  static absl::StatusOr<std::shared_ptr<Loader>> Create(
      const proto::LoaderSpec& spec, stream::Recipe recipe,
      const stream::Machinery& machinery, schedule::Flow flow);
  // The member is gone for good: its leases end.
  ~Loader();

  const std::string& name() const { return spec_.name(); }
  const dataset::Dataset& dataset() const { return *recipe_.dataset; }
  const arena::Channel& channel() const { return *channel_; }
  std::uint64_t slot_bytes() const { return stream_->slot_bytes(); }
  std::uint64_t samples_per_epoch() const {
    return stream_->samples_per_epoch();
  }
  std::uint64_t batches_per_epoch() const {
    return stream_->batches_per_epoch();
  }

  // Where the order is coordinated, `list` has what was seen of the epoch.
  // Returns descriptors of the slots, in order. `list`: a descriptor of sealed
  // memory with the epoch's samples, for a loader whose order is LISTED; else
  // invalid.
  absl::StatusOr<std::vector<base::Fd>> StartEpoch(
      std::uint64_t epoch, std::uint64_t first_sample,
      const base::Fd& list = base::Fd());
  // Ends production; returns how many ready entries there are in all.
  std::uint32_t StopEpoch();

  // To be called when channel().event_fd() is readable.
  absl::Status TakeReleases();

  // Gives the slots back when no epoch has run for `idle_nanos` and none is
  // leased.
  void ReclaimIfIdle(std::int64_t idle_nanos);
  // Whether the member holds a batch, or could still take one.
  bool HasLeases() const;

  LoaderSnapshot Snapshot() const;
  absl::StatusOr<PeekedBatch> Peek() const;

 private:
  Loader(proto::LoaderSpec spec, stream::Recipe recipe,
         const stream::Machinery& machinery,
         std::unique_ptr<arena::Channel> channel,
         std::shared_ptr<stream::Stream> stream);

  const proto::LoaderSpec spec_;
  const stream::Recipe recipe_;
  const base::Clock* const clock_;
  base::MemoryBudget* const budget_;
  const std::unique_ptr<arena::Channel> channel_;
  const std::shared_ptr<stream::Stream> stream_;
  const arena::Holder member_;

  // Held while an epoch starts or stops, or slots are given back.
  base::Mutex control_;
  std::int64_t used_at_nanos_ ABSL_GUARDED_BY(control_) = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_LOADER_H_
