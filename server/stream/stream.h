#ifndef FOREBAY_SERVER_STREAM_STREAM_H_
#define FOREBAY_SERVER_STREAM_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/arena/channel.h"
#include "server/arena/slot_pool.h"
#include "server/base/index_list.h"
#include "server/base/mutex.h"
#include "server/stream/audience.h"
#include "server/stream/backlog.h"
#include "server/stream/batch.h"
#include "server/stream/batch_layout.h"
#include "server/stream/form_choice.h"
#include "server/stream/intake.h"
#include "server/stream/itinerary.h"
#include "server/stream/listings.h"
#include "server/stream/member.h"
#include "server/stream/pace.h"
#include "server/stream/production_line.h"
#include "server/stream/provision.h"
#include "server/stream/recipe.h"
#include "server/stream/sample_maker.h"

namespace forebay::stream {

// Totals since the stream was made.
struct StreamCounters {
  std::uint64_t bytes_read = 0;
  std::uint64_t samples_decoded = 0;  // and not made of others' pixels
  std::uint64_t samples_substituted = 0;
  std::uint64_t cpu_nanos = 0;
};

// All of a stream at one moment, as one of its members sees it.
struct StreamSnapshot {
  std::uint64_t epoch = 0;
  bool running = false;
  std::uint32_t slots = 0;
  arena::SlotCounts slot_counts;
  IntakeSnapshot intake;
  std::uint32_t samples_to_decode = 0;
  StreamCounters made;
  MemberCounters taken;
};

// A copy of a published slot, and its part of the memory budget.
struct SlotCopy {
  base::MemoryReservation reservation;
  std::vector<std::uint8_t> bytes;
};

// Produces one sequence of batches, an epoch at a time, for all of its members.
// A free slot is the credit to read: no slot, no read. Batches are made side by
// side, as many as the members' consumption wants, and published in order. The
// least memory for that is reserved as long as the stream lives; slots exist
// from the first Start to Reclaim.
//
// Thread-safe, but Start, Stop and Reclaim come from one thread at a time. Made
// by Create and kept alive by its own work under way. Owns its slots; channels
// belong to the members. Start blocks while memory is cleared, Peek while a
// batch is copied; nothing else blocks. Errors: those of Create, Start and
// Peek; a sample's error ends the epoch and is published to the members.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // RESOURCE_EXHAUSTED: no memory for slots and reads.
  static absl::StatusOr<std::shared_ptr<Stream>> Create(Recipe recipe,
                                                        Machinery machinery,
                                                        schedule::Flow flow);

  std::uint64_t slot_bytes() const { return layout_.slot_bytes(); }
  std::uint64_t samples_per_epoch() const;
  std::uint64_t batches_per_epoch() const;

  // `channel` gets every batch published from now on, until Forfeit.
  arena::Holder Join(arena::Channel* channel);
  // The member is gone: its leases end.
  void Forfeit(arena::Holder member);
  // Whether the member holds a batch, or could still take one.
  bool Holds(arena::Holder member) const;

  // Starts `epoch`, passing over the first samples. `list`: as
  // Sampler::Epoch's. Returns descriptors of the slots, in order.
  // FAILED_PRECONDITION: an epoch is under way, or a member takes nothing of
  // what is published; OUT_OF_RANGE: the epoch has fewer samples;
  // INVALID_ARGUMENT: as Sampler::CheckList; RESOURCE_EXHAUSTED: the host has
  // no memory or descriptors left.
  absl::StatusOr<std::vector<base::Fd>> Start(
      std::uint64_t epoch, std::uint64_t first_sample,
      const std::shared_ptr<const base::IndexList>& list = nullptr);
  // Publishes nothing more of the epoch under way, if any.
  void Stop();
  // To be called now and then: gives back memory that it does without just now,
  // and looks for what nobody told it.
  void Rest();
  // Gives the slots back if no epoch runs and nothing holds one. True if none
  // are left.
  bool Reclaim();

  // Takes the releases that `member` pushed. INVALID_ARGUMENT: garbage in its
  // ring.
  absl::Status TakeReleases(arena::Holder member);

  StreamSnapshot Snapshot(arena::Holder member);
  // The slot published last. UNAVAILABLE: there is none to see now;
  // RESOURCE_EXHAUSTED: no memory for the copy.
  absl::StatusOr<SlotCopy> Peek();

 private:
  // What a worker's task has made.
  struct Made {
    std::uint32_t samples = 0;
    std::uint32_t decoded = 0;  // of these, from encoded bytes
    std::int64_t cpu_nanos = 0;
  };
  using Requests = std::vector<storage::ReadRequest>;

  Stream(Recipe recipe, Machinery machinery, schedule::Flow flow,
         const BatchLayout& layout, Provision provision);

  std::int64_t Now() const { return machinery_.clock->NowNanos(); }

  // Makes the slots if they are not there.
  absl::Status MakeSlots();

  // Turns credits into batches and batches into reads; the caller sends the
  // reads when it has let go of the mutex. Looks for releases as long as there
  // is work, and no longer.
  Requests PlanLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PlanReadsLocked(Requests* requests)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  arena::SlotPool* PoolLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return pool_.has_value() ? &*pool_ : nullptr;
  }
  void Send(Requests requests);

  void OnRead(Place* place, absl::StatusOr<base::Bytes> bytes);
  // What one more task will probably need, if the backlog wants one.
  std::optional<executor::Demand> NextTaskLocked()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Submit(std::optional<executor::Demand> task);
  void RunTask(int worker);
  void Finish(absl::Span<const ReadSample> samples, const Made& made);
  void PublishCompleteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PublishLocked(const Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseEpochLocked(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Recipe recipe_;
  const Machinery machinery_;
  const schedule::Flow flow_;
  const BatchLayout layout_;
  FormChoice forms_;
  const SampleMaker maker_;
  Provision provision_;  // constant once the intake has its part
  mutable base::Mutex mutex_;
  Intake intake_ ABSL_GUARDED_BY(mutex_);
  const std::shared_ptr<Itinerary> itinerary_;
  const Listings listings_;  // of the itinerary

  std::optional<arena::SlotPool> pool_ ABSL_GUARDED_BY(mutex_);
  Audience audience_ ABSL_GUARDED_BY(mutex_);

  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  ProductionLine line_ ABSL_GUARDED_BY(mutex_);
  Backlog backlog_ ABSL_GUARDED_BY(mutex_);
  // While anything is read: the callbacks count on it. Tasks hold their own.
  std::shared_ptr<Stream> alive_ ABSL_GUARDED_BY(mutex_);

  std::uint32_t samples_to_decode_ ABSL_GUARDED_BY(mutex_) = 0;
  StreamCounters counters_ ABSL_GUARDED_BY(mutex_);
  Pace pace_ ABSL_GUARDED_BY(mutex_);
  std::uint32_t last_slot_ ABSL_GUARDED_BY(mutex_) = 0;  // published
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STREAM_H_
