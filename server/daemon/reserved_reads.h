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

// A source whose reads need memory besides the bytes that they return. A
// scheduler in front shares the source out among jobs, and lets through as many
// reads at once as memory is reserved for. The first read reserves the memory,
// so a daemon without such reads can use the memory for something else.
//
// Thread-safe. The caller owns it. The source below, the budget and `shares`
// outlive it. Does not block. Errors are those of the source below, and
// RESOURCE_EXHAUSTED if the budget has no room.
class ReservedReads final : public storage::ByteSource {
 public:
  struct Options {
    std::uint64_t bytes_of_read = 0;  // memory that each read takes
    std::size_t most_reads = 0;       // the most reads at once
    std::uint64_t spare_bytes = 0;    // buffers that the source keeps
    std::string purpose;              // the memory's, for messages
  };

  // Creates the source, and adds its scheduler to `shares`.
  ReservedReads(storage::ByteSource* below, base::MemoryBudget* budget,
                storage::AllJobShares* shares, Options options);

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    scheduled_.Share(ticket, purpose);
  }

 private:
  // Passes weights on to the scheduler, but not caps. Caps bound the bytes read
  // from files, and the source below enforces them.
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

  // Reserves the memory, unless that was done.
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
