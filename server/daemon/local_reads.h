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

// The source of local files. Each file system has a source of its own, so that
// a file system that hangs delays no reads of others.
//
// A file system on a disk of this host is read through io_uring, if the host
// allows that and the configuration wants it. Threads read all others. Links
// and mount points may lead to files outside a root's own file system. Further
// threads read these files; roots with the same extra roots share the threads.
// A scheduler in front of each source shares it out among jobs. The log says
// whether io_uring or threads are used, and why.
//
// Thread-safe. Owns the sources; destruction ends their reads. Calls do not
// block, except ReleaseIdle, which waits for idle threads to end. Errors are
// those of the sources.
class LocalReads {
 public:
  // The most bytes of buffers that are kept for the next reads, including the
  // buffers of the first ring. Further rings reserve memory from the budget, if
  // it has some to spare.
  static constexpr std::size_t kBufferBytes = std::size_t{20} << 20;

  // Creates the source, and adds its schedulers to `shares`. The executor's
  // threads check files of which only the modification time has changed.
  // `shares`, the budget and the executor outlive the last call.
  LocalReads(const proto::StorageConfig& config, executor::Executor* executor,
             base::MemoryBudget* budget, storage::AllJobShares* shares);
  ~LocalReads();

  // Returns the source of all local files.
  storage::ByteSource* source() { return &*rechecked_; }
  // Returns the sums over all file systems that are being read. `concurrency`
  // is never less than what one file system has by default.
  storage::SourceState state() const;
  // Returns the CPU time that reading has taken, in nanoseconds.
  std::int64_t cpu_nanos() const;

  bool io_uring() const { return has_rings_; }
  // Returns a clause that says why io_uring is not used; empty if io_uring is
  // used, or not wanted.
  const std::string& refusal() const { return refusal_; }

  // Ends the sources of file systems that nobody reads from any more.
  void ReleaseIdle() { domains_.ReleaseIdle(); }

 private:
  // Returns a new source for a file system; null if the system refuses the
  // threads that the source needs.
  std::unique_ptr<storage::SharedOutSource> MakeDomain(
      const std::string& file_system);
  // Returns a new source with an io_uring; null if the system refuses one.
  std::unique_ptr<LocalDomain> MakeRing();
  // Removes `domain`, which is ending, from `live_`, and adds its CPU time to
  // `ended_cpu_nanos_`.
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
  // The source in front of `domains_`, declared before `domains_` so that it is
  // destroyed later.
  std::optional<storage::RecheckedSource> rechecked_;
  storage::DomainSource domains_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_LOCAL_READS_H_
