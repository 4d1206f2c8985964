#ifndef FOREBAY_SERVER_DAEMON_INFLATED_READS_H_
#define FOREBAY_SERVER_DAEMON_INFLATED_READS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/daemon/reserved_reads.h"
#include "server/executor/executor.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/inflated/inflated_source.h"

namespace forebay::daemon {

// The source of compressed files, which the executor's workers inflate, with
// memory set aside for it. Files that are compressed by zstd, which takes a lot
// more memory, have memory of their own.
//
// Thread-safe. The source below, the executor, the budget and `shares` outlive
// it, but for what Stop says. Destruction ends its reads: the source below and
// the executor have stopped. Does not block otherwise. Errors are those of
// InflatedSource and of ReservedReads.
class InflatedReads final : public storage::ByteSource {
 public:
  // `shares` learns what shares these reads out.
  InflatedReads(storage::ByteSource* below, executor::Executor* executor,
                base::MemoryBudget* budget, storage::AllJobShares* shares);

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    deflated_.Share(ticket, purpose);
    zstd_.Share(ticket, purpose);
  }
  // Cancels later reads; the source below is not called again.
  void Stop() { inflated_.Stop(); }

 private:
  storage::inflated::InflatedSource inflated_;
  ReservedReads deflated_;
  ReservedReads zstd_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_INFLATED_READS_H_
