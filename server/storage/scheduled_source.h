#ifndef FOREBAY_SERVER_STORAGE_SCHEDULED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_SCHEDULED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/alarm.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/schedule/request_cost.h"
#include "server/schedule/shared_queue.h"
#include "server/schedule/stall_threshold.h"
#include "server/storage/byte_source.h"
#include "server/storage/shared_out_source.h"
#include "server/storage/source_state.h"

namespace forebay::storage {

// The limits of what the source below has in flight.
struct ScheduledSourceOptions {
  // The most reads and bytes that the source below has in flight. They should
  // just keep that source busy: even an urgent read cannot overtake reads in
  // flight. A single read may be larger than `bytes_at_once`.
  std::size_t reads_at_once = 64;
  std::uint64_t bytes_at_once = std::uint64_t{16} << 20;
  // The most stalled reads of a job. A job that has this many gets no further
  // reads.
  std::size_t most_stalled = 64;
  const base::Clock* clock = base::Clock::Monotonic();
};

// Shares one resource, the source below, among jobs in proportion to their
// weights.
//
// The cost of a read is its bytes and the measured cost of a request. Within a
// job the most urgent read goes first. A read that several jobs want is queued
// by the most urgent of their purposes, and each job pays an equal part. While
// a job is over its cap, its reads wait and the other jobs use its share. A
// read that the source below leaves unanswered for long
// (schedule/stall_threshold.h) is stalled: it no longer counts among the reads
// in flight.
//
// Thread-safe. A thread named forebay-caps resumes reads that caps held up, and
// looks for stalled ones. The caller owns the source; the source below and the
// clock outlive it. Destruction fails the waiting reads with CANCELLED, and
// waits for those in flight below. Read does not block. Errors are as
// ByteSource says.
class ScheduledSource final : public SharedOutSource {
 public:
  explicit ScheduledSource(ByteSource* below,
                           const ScheduledSourceOptions& options = {});
  ~ScheduledSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;
  void SetWeight(std::uint64_t job, double weight) override;
  void SetCap(std::uint64_t job, double bytes_per_second) override;
  void Forget(std::uint64_t job) override;

  SourceState State() const override;

  // Whether the system gave the thread forebay-caps. Without it, reads may wait
  // for ever behind a cap or a stalled read.
  bool has_thread() const { return alarm_.has_thread(); }

 private:
  using Queue = schedule::SharedQueue<ReadRequest>;

  // A read that may be shared, until it is done, and the readers that have
  // joined it.
  struct Ticketed {
    Queue::Id id;
    std::vector<ReadPurpose> joined;
  };
  // A read that is in flight in the source below.
  struct InFlightRead {
    Queue::Id id;
    std::uint64_t ticket;
    std::uint64_t bytes;
    std::int64_t begun_nanos;
    bool stalled;
    ReadDone done;
  };
  // Reads in the order in which they went below, the oldest first.
  using InFlightReads = std::list<InFlightRead>;
  // A period in which reads were always waiting for a place in the source
  // below. The rate of that period tells what a request costs.
  struct Stretch {
    std::int64_t begin_nanos;
    std::int64_t requests = 0;
    std::int64_t bytes = 0;
  };

  // Returns the clock's time in nanoseconds.
  std::int64_t Now() const { return options_.clock->NowNanos(); }

  // Sends the reads that may go to the source below. Only one thread sends at a
  // time. Meanwhile further calls return at once, even a call from a `done`
  // within Read of the source below.
  void Dispatch();
  // Takes the reads to send from the queue. If there are none, clears
  // `dispatching_` and returns false.
  bool Take(std::vector<ReadRequest>* requests);
  // Tells the source below of the readers that joined these reads before the
  // reads were sent.
  void ShareAgain(absl::Span<const std::uint64_t> tickets);
  // Whether less than `part` of the limits is in flight below.
  bool HasRoomLocked(double part) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes that a read goes to the source below. Returns the request to send.
  ReadRequest BeginLocked(Queue::Popped popped, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the reads that have waited below for too long to `stalled_`.
  void StallOverdueLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the time, in nanoseconds, of the next change that only the passing
  // of time brings: a cap permits a read, or a read stalls while others wait
  // for its place. INT64_MAX if there is none.
  std::int64_t NextChangeLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends a read that was in flight below, and sends the next ones before its
  // `done` is called.
  void Complete(InFlightReads::iterator in_flight,
                absl::StatusOr<ReadResult> result);
  // Returns the load of a read of `bytes` bytes: these bytes, and the cost of a
  // request.
  schedule::Load LoadLocked(std::uint64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a read in the current stretch. At the stretch's end, measures the
  // cost of a request.
  void CountLocked(std::uint64_t bytes, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ByteSource* const below_;
  const ScheduledSourceOptions options_;

  mutable base::Mutex mutex_;
  base::CondVar quiet_;
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  // The reads that are waiting or in flight, by ticket.
  std::unordered_map<std::uint64_t, Ticketed> tickets_ ABSL_GUARDED_BY(mutex_);
  InFlightReads in_flight_ ABSL_GUARDED_BY(mutex_);
  InFlightReads stalled_ ABSL_GUARDED_BY(mutex_);
  schedule::StallThreshold stall_threshold_ ABSL_GUARDED_BY(mutex_);
  // The bytes of the reads in `in_flight_`; stalled reads do not count.
  std::uint64_t bytes_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  schedule::RequestCost request_cost_ ABSL_GUARDED_BY(mutex_);
  // The current stretch; nothing while no read waits.
  std::optional<Stretch> stretch_ ABSL_GUARDED_BY(mutex_);
  // Whether a thread is in Dispatch.
  bool dispatching_ ABSL_GUARDED_BY(mutex_) = false;
  // The reads that went below and whose `done` has not returned.
  std::size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  base::Alarm alarm_;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_SCHEDULED_SOURCE_H_
