#ifndef FOREBAY_SERVER_DAEMON_GATHERED_READS_H_
#define FOREBAY_SERVER_DAEMON_GATHERED_READS_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/schedule/flow.h"
#include "server/schedule/job_shares.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/gathered/gathered_source.h"
#include "server/storage/scheduled_source.h"

namespace forebay::daemon {

// The source of samples that are gathered of pieces of a file. A scheduler in
// front shares it out among jobs, and lets through as many reads as memory was
// set aside for: by the first read, so that a daemon that gathers nothing has
// no less.
//
// Thread-safe. The source below, the budget and `shares` outlive it, but for
// what Stop says. Destruction ends its reads: the source below has stopped.
// Does not block otherwise. Errors are those of GatheredSource;
// RESOURCE_EXHAUSTED: the budget has no room.
class GatheredReads final : public storage::ByteSource {
 public:
  // `shares` learns what shares these reads out.
  GatheredReads(storage::ByteSource* below, base::MemoryBudget* budget,
                storage::AllJobShares* shares);

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    scheduled_.Share(ticket, purpose);
  }
  // Cancels later reads; the source below is not called again.
  void Stop() { gathered_.Stop(); }

 private:
  // Caps are on bytes of pieces: the source below keeps them.
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
  absl::Status Prepare();

  base::MemoryBudget* const budget_;
  const std::size_t reads_at_once_;
  storage::gathered::GatheredSource gathered_;
  base::Mutex mutex_;
  base::MemoryReservation memory_ ABSL_GUARDED_BY(mutex_);
  storage::ScheduledSource scheduled_;
  Weights weights_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_GATHERED_READS_H_
