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

struct ScheduledSourceOptions {
  // The most that the source below has in flight. Enough to keep it busy, and
  // no more: later reads cannot overtake those in flight. One read may be
  // larger.
  std::size_t reads_at_once = 64;
  std::uint64_t bytes_at_once = std::uint64_t{16} << 20;
  // A job that has so many stalled reads gets no further ones.
  std::size_t most_stalled = 64;
  const base::Clock* clock = base::Clock::Monotonic();
};

// Shares one resource, the source below, among jobs in proportion to their
// weights. A read counts by its bytes and by the cost of a request, which is
// measured. Within a job the most urgent read goes first. A read that several
// jobs want has the most urgent one's place, and they pay equal parts of it. A
// job that is over its cap waits, and the others have its share. A read that
// the source below does not answer for long (schedule/stall_threshold.h) is
// stalled: it takes no place in what is in flight any more.
//
// Thread-safe; a thread named forebay-caps resumes reads that caps held up, and
// looks for stalled ones. The
// caller owns it; the source and the clock outlive it. Destruction fails the
// waiting reads with CANCELLED, and waits for those in flight below. Read does
// not block. Errors as ByteSource says.
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

  // Returns false if the system refused the thread: then reads may wait for
  // ever behind a cap or a stalled read.
  bool has_thread() const { return alarm_.has_thread(); }

 private:
  using Queue = schedule::SharedQueue<ReadRequest>;

  // A read that may be shared, until it is done.
  struct Ticketed {
    Queue::Id id;
    std::vector<ReadPurpose> joined;
  };
  struct InFlightRead {
    Queue::Id id;
    std::uint64_t ticket;
    std::uint64_t bytes;
    std::int64_t begun_nanos;
    bool stalled;
    ReadDone done;
  };
  using InFlightReads = std::list<InFlightRead>;  // the oldest first
  // A stretch of time in which there was always more to read than the source
  // below could take.
  struct Stretch {
    std::int64_t begin_nanos;
    std::int64_t requests = 0;
    std::int64_t bytes = 0;
  };

  std::int64_t Now() const { return options_.clock->NowNanos(); }

  // Sends the reads that may go below. One thread does so at a time; others
  // that come meanwhile leave it to that thread, as does a source that answers
  // at once.
  void Dispatch();
  // Takes the reads to send. Returns false if there are none; then no thread
  // dispatches any more.
  bool Take(std::vector<ReadRequest>* requests);
  // Tells the source below who joined these reads before it had them.
  void ShareAgain(absl::Span<const std::uint64_t> tickets);
  bool HasRoomLocked(double part) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ReadRequest BeginLocked(Queue::Popped popped, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Declares the reads stalled that have waited for too long.
  void StallOverdueLocked(std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns when something changes by itself: a cap, or a read that stalls
  // while others wait for its place. Returns INT64_MAX if nothing does.
  std::int64_t NextChangeLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complete(InFlightReads::iterator in_flight,
                absl::StatusOr<ReadResult> result);
  schedule::Load LoadLocked(std::uint64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Measures what requests cost.
  void CountLocked(std::uint64_t bytes, std::int64_t now_nanos)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ByteSource* const below_;
  const ScheduledSourceOptions options_;

  mutable base::Mutex mutex_;
  base::CondVar quiet_;
  Queue queue_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Ticketed> tickets_ ABSL_GUARDED_BY(mutex_);
  InFlightReads in_flight_ ABSL_GUARDED_BY(mutex_);
  InFlightReads stalled_ ABSL_GUARDED_BY(mutex_);
  schedule::StallThreshold stall_threshold_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t bytes_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;  // not stalled
  schedule::RequestCost request_cost_ ABSL_GUARDED_BY(mutex_);
  std::optional<Stretch> stretch_ ABSL_GUARDED_BY(mutex_);
  bool dispatching_ ABSL_GUARDED_BY(mutex_) = false;
  // Reads in flight below, until their `done` has returned.
  std::size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  base::Alarm alarm_;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_SCHEDULED_SOURCE_H_
