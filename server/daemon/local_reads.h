#ifndef FOREBAY_SERVER_DAEMON_LOCAL_READS_H_
#define FOREBAY_SERVER_DAEMON_LOCAL_READS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "proto/config.pb.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/daemon/local_domain.h"
#include "server/executor/executor.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"
#include "server/storage/domain_source.h"
#include "server/storage/rechecked_source.h"
#include "server/storage/shared_out_source.h"

namespace forebay::daemon {

// The source of local files. Each file system has a source of its own: an
// io_uring where it is one of this host, the host allows that and the
// configuration wants it, else threads. What lies beyond a root's own file
// system has threads of its own, which roots with the same extra roots share. A
// scheduler in front of each shares it out among jobs. Logs which of both is
// used, and why.
//
// Thread-safe. Owns the sources; destruction ends their reads. Does not block,
// but for ReleaseIdle, which waits for idle threads to end. Errors are those of
// the sources.
class LocalReads {
 public:
  // The most bytes of buffers that reads keep for the next ones, with those of
  // the first ring. Further rings have memory of the budget's, if it has some.
  static constexpr std::size_t kKeptBytes = std::size_t{20} << 20;

  // `shares` learns what shares these reads out. It, the budget and the
  // executor, which looks again at files that were touched, outlive the last
  // call.
  LocalReads(const proto::StorageConfig& config, executor::Executor* executor,
             base::MemoryBudget* budget, storage::AllJobShares* shares);
  ~LocalReads();

  storage::ByteSource* source() { return &*rechecked_; }
  // Returns the sums over all file systems that are read. While none is, the
  // concurrency is that of one file system.
  storage::SourceState state() const;
  // CPU time that reading has taken.
  std::int64_t cpu_nanos() const;

  bool io_uring() const { return has_rings_; }
  // Why io_uring is not used: a clause. Empty: it is, or it is not wanted.
  const std::string& refusal() const { return refusal_; }

  // Ends the sources of file systems that nobody reads from any more.
  void ReleaseIdle() { domains_.ReleaseIdle(); }

 private:
  // Returns null if the system refuses the threads that it takes.
  std::unique_ptr<storage::SharedOutSource> MakeDomain(
      const std::string& file_system);
  // Returns null if no ring can be had.
  std::unique_ptr<LocalDomain> MakeRing();
  // Books a domain's end.
  void OnEnd(LocalDomain* domain);

  const int threads_;
  base::MemoryBudget* const budget_;
  const std::shared_ptr<storage::BufferPool> buffers_;
  bool has_rings_ = false;
  std::string refusal_;
  mutable base::Mutex mutex_;
  std::set<LocalDomain*> live_ ABSL_GUARDED_BY(mutex_);
  // The domain whose ring has the memory that is reserved from the start.
  LocalDomain* first_ring_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::int64_t ended_cpu_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  // In front of the rest, and destroyed after it.
  std::optional<storage::RecheckedSource> rechecked_;
  storage::DomainSource domains_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_LOCAL_READS_H_
