#ifndef FOREBAY_SERVER_DAEMON_DECOMPRESSED_READS_H_
#define FOREBAY_SERVER_DAEMON_DECOMPRESSED_READS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/daemon/reserved_reads.h"
#include "server/executor/executor.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/compressed/decompressed_source.h"

namespace forebay::daemon {

// Reads compressed files, which the executor's threads decompress. Memory is
// reserved for these reads. Reads of zstd files need much more memory, and have
// a reservation of their own.
//
// Thread-safe. The daemon owns it. The executor, the budget and `shares`
// outlive it. The source below may be destroyed earlier, after Stop.
// Destruction ends all reads of this object; the source below and the executor
// must have stopped before. All other calls do not block. Errors are those of
// DecompressedSource and of ReservedReads.
class DecompressedReads final : public storage::ByteSource {
 public:
  // Creates the source, and adds its schedulers to `shares`.
  DecompressedReads(storage::ByteSource* below, executor::Executor* executor,
                    base::MemoryBudget* budget, storage::AllJobShares* shares);

  void Read(absl::Span<storage::ReadRequest> requests) override;
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    deflated_.Share(ticket, purpose);
    zstd_.Share(ticket, purpose);
  }
  // Cancels later reads; the source below is not called again.
  void Stop() { decompressed_.Stop(); }

 private:
  storage::compressed::DecompressedSource decompressed_;
  ReservedReads deflated_;
  ReservedReads zstd_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_DECOMPRESSED_READS_H_
