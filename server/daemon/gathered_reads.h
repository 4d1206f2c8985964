#ifndef FOREBAY_SERVER_DAEMON_GATHERED_READS_H_
#define FOREBAY_SERVER_DAEMON_GATHERED_READS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/daemon/reserved_reads.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/gathered/gathered_source.h"

namespace forebay::daemon {

// Reads samples that are gathered from several pieces of a file. Memory is
// reserved for these reads.
//
// Thread-safe. The daemon owns it. The budget and `shares` outlive it. The
// source below may be destroyed earlier, after Stop. Destruction ends all reads
// of this object; the source below must have stopped before. All other calls do
// not block. Errors are those of GatheredSource and of ReservedReads.
class GatheredReads final : public storage::ByteSource {
 public:
  // Creates the source, and adds its scheduler to `shares`.
  GatheredReads(storage::ByteSource* below, base::MemoryBudget* budget,
                storage::AllJobShares* shares);

  void Read(absl::Span<storage::ReadRequest> requests) override {
    reserved_.Read(requests);
  }
  void Share(std::uint64_t ticket,
             const storage::ReadPurpose& purpose) override {
    reserved_.Share(ticket, purpose);
  }
  // Cancels later reads; the source below is not called again.
  void Stop() { gathered_.Stop(); }

 private:
  storage::gathered::GatheredSource gathered_;
  ReservedReads reserved_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_GATHERED_READS_H_
