#ifndef FOREBAY_SERVER_DAEMON_INFLATED_READS_H_
#define FOREBAY_SERVER_DAEMON_INFLATED_READS_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/executor/executor.h"
#include "server/schedule/flow.h"
#include "server/schedule/job_shares.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/inflated/inflated_source.h"
#include "server/storage/scheduled_source.h"

namespace forebay::daemon {

// The source of compressed files, which the executor's workers inflate. A
// scheduler in front shares it out among jobs, and lets through as many reads
// as memory was set aside for: by the first read, so that a daemon that reads
// none has no less. Files that are compressed by zstd, which takes a lot more
// memory, have a scheduler and memory of their own.
//
// Thread-safe. The source below, the executor, the budget and `shares` outlive
// it, but for what Stop says. Destruction ends its reads: the source below and
// the executor have stopped. Does not block otherwise. Errors are those of
// InflatedSource; RESOURCE_EXHAUSTED: the budget has no room.
class InflatedReads final : public storage::ByteSource {
 public:
  // `shares` learns what shares these reads out.
  InflatedReads(storage::ByteSource* below, executor::Executor* executor,
                base::MemoryBudget* budget, storage::AllJobShares* shares);

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    deflated_.source.Share(ticket, purpose);
    zstd_.source.Share(ticket, purpose);
  }
  // Cancels later reads; the source below is not called again.
  void Stop() { inflated_.Stop(); }

 private:
  // Reads of one kind, of which each takes so many bytes.
  struct Kind {
    Kind(storage::ByteSource* inflated, std::uint64_t bytes_of_read,
         std::size_t most_reads, const base::MemoryBudget& budget);

    const std::uint64_t bytes_of_read;
    const std::size_t reads_at_once;
    base::Mutex mutex;
    base::MemoryReservation memory ABSL_GUARDED_BY(mutex);
    storage::ScheduledSource source;
  };

  // Caps are on bytes as they lie in files: the source below keeps them.
  class Weights final : public schedule::JobShares {
   public:
    explicit Weights(schedule::JobShares* shares) : shares_(shares) {}
    void SetWeight(schedule::Flow job, double weight) override {
      shares_->SetWeight(job, weight);
    }
    void Forget(schedule::Flow job) override { shares_->Forget(job); }

   private:
    schedule::JobShares* const shares_;
  };

  // Sets the memory aside, unless that was done.
  absl::Status Prepare(Kind& kind);
  void ReadKind(Kind& kind, absl::Span<storage::ReadRequest> requests);

  base::MemoryBudget* const budget_;
  storage::inflated::InflatedSource inflated_;
  Kind deflated_;
  Kind zstd_;
  Weights deflated_weights_;
  Weights zstd_weights_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_INFLATED_READS_H_
