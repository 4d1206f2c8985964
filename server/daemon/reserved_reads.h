#ifndef FOREBAY_SERVER_DAEMON_RESERVED_READS_H_
#define FOREBAY_SERVER_DAEMON_RESERVED_READS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/schedule/flow.h"
#include "server/schedule/job_shares.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/scheduled_source.h"

namespace forebay::daemon {

// Reads of a source, of which each takes memory besides the bytes that it
// gives. A scheduler in front shares the source out among jobs, and lets
// through as many reads as memory was set aside for: by the first read, so that
// a daemon that has none of them has no less.
//
// Thread-safe. The source below, the budget and `shares` outlive it. Does not
// block. Errors are those of the source below; RESOURCE_EXHAUSTED: the budget
// has no room.
class ReservedReads final : public storage::ByteSource {
 public:
  struct Options {
    std::uint64_t bytes_of_read = 0;  // of memory
    std::size_t most_reads = 0;       // at once
    std::uint64_t spare_bytes = 0;    // of buffers that the source keeps
    std::string purpose;              // of the memory, for people
  };

  // `shares` learns what shares these reads out.
  ReservedReads(storage::ByteSource* below, base::MemoryBudget* budget,
                storage::AllJobShares* shares, Options options);

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    scheduled_.Share(ticket, purpose);
  }

 private:
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
  absl::Status Prepare();

  base::MemoryBudget* const budget_;
  const Options options_;
  const std::size_t reads_at_once_;
  base::Mutex mutex_;
  base::MemoryReservation memory_ ABSL_GUARDED_BY(mutex_);
  storage::ScheduledSource scheduled_;
  Weights weights_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_RESERVED_READS_H_
