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
#include "server/daemon/decompressed_reads.h"
#include "server/daemon/disk_tier.h"
#include "server/daemon/gathered_reads.h"
#include "server/daemon/gpus.h"
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
#include "server/session/request_pool.h"
#include "server/session/server.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/coalesced_source.h"
#include "server/storage/memory/memory_source.h"
#include "server/storage/routed_source.h"
#include "server/worker/answer_waiter.h"
#include "server/worker/memory_watch.h"

namespace forebay::daemon {

// Makes the objects of all rooms and connects them: the one place that names
// their concrete classes.
//
// One thread creates, runs and destroys the daemon; any thread may call Stop.
// The daemon owns all parts. Run blocks until Stop. Leave and destruction wait
// for work that is under way, which may hang for ever. Create fails if memory
// is short, or a socket cannot be opened.
class Daemon {
 public:
  // Creates a daemon whose sockets listen. `config_file` is shown to people.
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
  // Ends the service after Run, and the work that is under way. Before each
  // wait, calls `step` with the name of the work that it waits for. Returns the
  // name of the work that hangs. If the name is not empty, this object cannot
  // be destroyed.
  std::string Leave(const std::function<void(std::string)>& step);
  // Returns duplicates of the descriptors whose locks keep other daemons out.
  // If a thread hangs in the kernel, the descriptors of its process stay open
  // even after the process has ended. The locks then last too, unless the
  // caller unlocks the duplicates by flock(2).
  std::vector<base::Fd> Locks() const;
  // Returns whether the daemon stopped because it cannot continue, so that
  // another one should be started.
  bool failed() const { return failed_; }

 private:
  Daemon(const proto::Config& config, std::string config_file,
         RuntimeDir runtime_dir, const Resources& resources);

  // Reserves memory, and joins the sources with their readers.
  absl::Status Assemble(const Resources& resources);
  // Opens the sockets, and sets up the loop's timers.
  absl::Status Listen();
  // Releases memory and sources that have been idle for long, and stops the
  // daemon if it has been idle for long. The loop calls it every second.
  void Tick();
  // Returns the facts that `forebayctl status` shows.
  admin::DaemonInfo Info() const;

  // Frees the memory that jobs leave behind, on threads of its own. This member
  // is the first, and so destroyed last. Other members may hand it work while
  // they are destroyed; it then runs the work at once.
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
  base::MemoryReservation scratch_;  // of workspaces_ and shared_workspace_
  base::MemoryReservation spare_buffers_;
  std::vector<std::unique_ptr<pipeline::Workspace>> workspaces_;
  std::unique_ptr<pipeline::SharedWorkspace> shared_workspace_;
  dataset::Catalog catalog_;
  cache::NextUseRegistry next_use_registry_;
  std::unique_ptr<base::EventLoop> loop_;
  // Reads and tasks under way refer to the members above, and end before these
  // members are destroyed. The sources are declared after the cache that reads
  // them, so that the sources are destroyed first and fail the reads that still
  // wait.
  std::unique_ptr<storage::CoalescedSource> coalesced_;
  std::unique_ptr<cache::Cache> cache_;
  std::unique_ptr<DiskTier> disk_tier_;
  // The source that streams read. Reads of samples in memory go directly to
  // `memory_`, all other reads go through the cache.
  storage::RoutedSource front_;
  executor::ThreadPoolExecutor executor_;
  // The source below the cache's tiers. Reads of compressed files go to
  // `decompressed_reads_`, reads of samples in several pieces to
  // `gathered_reads_`, and all other reads to `stored_`.
  storage::RoutedSource sources_;
  storage::RoutedSource stored_;
  // All schedulers that share reads out among jobs.
  storage::AllJobShares read_shares_;
  storage::memory::MemorySource memory_;
  DecompressedReads decompressed_reads_;
  GatheredReads gathered_reads_;
  LocalReads local_reads_;
  RemoteReads remote_reads_;
  worker::MemoryWatch memory_watch_;
  // Destroyed before the members that its callbacks use.
  worker::AnswerWaiter answer_waiter_;
  std::unique_ptr<job::Registry> registry_;
  std::unique_ptr<session::Server> sessions_;
  std::unique_ptr<admin::AdminServer> admin_;

  std::int64_t busy_at_nanos_;  // the last time at which there was a session
  bool failed_ = false;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_DAEMON_H_
