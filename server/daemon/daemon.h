#ifndef FOREBAY_SERVER_DAEMON_DAEMON_H_
#define FOREBAY_SERVER_DAEMON_DAEMON_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "server/admin/admin_server.h"
#include "server/base/event_loop.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/cache/cache.h"
#include "server/cache/next_use_registry.h"
#include "server/daemon/disk_tier.h"
#include "server/daemon/gathered_reads.h"
#include "server/daemon/gpus.h"
#include "server/daemon/inflated_reads.h"
#include "server/daemon/local_reads.h"
#include "server/daemon/remote_reads.h"
#include "server/daemon/resources.h"
#include "server/daemon/runtime_dir.h"
#include "server/daemon/service_manager.h"
#include "server/dataset/catalog.h"
#include "server/device/device_directory.h"
#include "server/executor/thread_pool_executor.h"
#include "server/job/registry.h"
#include "server/pipeline/shared_workspace.h"
#include "server/pipeline/workspace.h"
#include "server/producer/answer_waiter.h"
#include "server/producer/memory_watch.h"
#include "server/session/request_pool.h"
#include "server/session/server.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/coalesced_source.h"
#include "server/storage/memory/memory_source.h"
#include "server/storage/routed_source.h"

namespace forebay::daemon {

// The assembly: the one place that names concrete classes and joins them. Made
// and run on one thread; Stop may be called from any thread. Owns everything.
// Run blocks until Stop; Leave and destruction block for what is under way,
// perhaps for ever. Errors: Create's (the memory limit, the sockets).
class Daemon {
 public:
  static absl::StatusOr<std::unique_ptr<Daemon>> Create(
      const proto::Config& config, std::string config_file,
      RuntimeDir runtime_dir);
  ~Daemon();

  // Makes the daemon stop as soon as `fd`, which the caller owns, is readable.
  absl::Status StopWhenReadable(int fd);
  // Serves until Stop, or until there has been no session for
  // session.exit_when_idle_seconds.
  void Run();
  void Stop() { loop_->Stop(); }
  // Ends the service after Run, and the work that is under way. Calls `step`
  // with what it waits for next, each time. Returns what hangs, for people; if
  // that is not empty, this object cannot be destroyed.
  std::string Leave(const std::function<void(std::string)>& step);
  // Returns further descriptors of the locks that keep other daemons out. A
  // thread that hangs in the kernel keeps descriptors open after the end of its
  // process, and so locks that are not given up by flock(2).
  std::vector<base::Fd> Locks() const;
  // Whether it stopped because it cannot go on, so that another should start.
  bool failed() const { return failed_; }

 private:
  Daemon(const proto::Config& config, std::string config_file,
         RuntimeDir runtime_dir, const Resources& resources);

  // Sets memory aside, and joins the sources with those that read through them.
  absl::Status Assemble(const Resources& resources);
  absl::Status Listen();
  void Tick();
  admin::DaemonInfo Info() const;

  // Ends memory that jobs leave. Goes last: what still ends then does so at
  // once, after it was stopped.
  session::RequestPool aside_;
  const proto::Config config_;
  const std::string config_file_;
  const std::string index_directory_;
  const RuntimeDir runtime_dir_;
  const ServiceManager service_manager_;
  const std::vector<std::string> warnings_;  // of the configuration
  const Gpus gpus_;
  device::DeviceDirectory devices_;
  const std::int64_t started_at_nanos_;

  base::MemoryBudget budget_;
  base::MemoryReservation scratch_;  // of all workers, and of the shared one
  base::MemoryReservation spare_buffers_;
  std::vector<std::unique_ptr<pipeline::Workspace>> workspaces_;
  std::unique_ptr<pipeline::SharedWorkspace> shared_workspace_;
  dataset::Catalog catalog_;
  cache::NextUseRegistry next_use_registry_;
  std::unique_ptr<base::EventLoop> loop_;
  // Reads and tasks under way refer to what stands above, and end before it
  // goes. The sources go before the cache that reads them: they fail what still
  // waits for them.
  std::unique_ptr<storage::CoalescedSource> coalesced_;
  std::unique_ptr<cache::Cache> cache_;
  std::unique_ptr<DiskTier> disk_tier_;
  // The source that streams read: memory directly, and all else through the
  // cache.
  storage::RoutedSource front_;
  executor::ThreadPoolExecutor executor_;
  // The source of objects, inflated, gathered or as they are stored.
  storage::RoutedSource sources_;
  storage::RoutedSource stored_;
  storage::AllJobShares read_shares_;  // of all that shares reads out
  storage::memory::MemorySource memory_;
  InflatedReads inflated_reads_;
  GatheredReads gathered_reads_;
  LocalReads local_reads_;
  RemoteReads remote_reads_;
  producer::MemoryWatch memory_watch_;
  // Goes before what its callbacks use.
  producer::AnswerWaiter answer_waiter_;
  std::unique_ptr<job::Registry> registry_;
  std::unique_ptr<session::Server> sessions_;
  std::unique_ptr<admin::AdminServer> admin_;

  std::int64_t busy_at_nanos_;  // when there was a session last
  bool failed_ = false;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_DAEMON_H_
