#ifndef FOREBAY_SERVER_ADMIN_DAEMON_INFO_H_
#define FOREBAY_SERVER_ADMIN_DAEMON_INFO_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/driver.h"
#include "server/storage/source_state.h"

namespace forebay::admin {

// The way in which local files are read.
struct LocalReadsInfo {
  bool io_uring = false;  // by io_uring, not by threads
  std::uint32_t threads = 0;
  // The reason why io_uring is not used; empty if it is used or not wanted.
  std::string refusal;
};

// The requests to buckets and web servers since the start, for one job. The
// message RemoteRequests of admin.proto explains the fields.
struct RemoteRequestsInfo {
  std::uint64_t job = 0;  // a JobSnapshot's id; 0 for requests of no job
  std::uint64_t reads = 0;
  std::uint64_t lists = 0;
  std::uint64_t others = 0;
  std::uint64_t retries = 0;
  std::uint64_t hedges = 0;
  std::uint64_t failures = 0;
  std::uint64_t bytes = 0;
};

// The workers, and the memory that they have to themselves, in bytes. The
// message UserWorkers of admin.proto explains the fields.
struct UserWorkersInfo {
  std::uint32_t count = 0;
  std::uint64_t memory_used = 0;
  std::uint64_t memory_limit = 0;
  std::uint64_t ended = 0;
};

// A GPU that loaders have their batches on. The message GpuUse of admin.proto
// explains the fields.
struct GpuUse {
  int ordinal = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t slot_limit = 0;
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t waiting_bytes = 0;
  std::string fault;
};

// The daemon as a whole, at one moment.
struct DaemonInfo {
  std::string version;
  double uptime_seconds = 0;
  std::string runtime_dir;
  std::string config_file;         // empty if there is none
  std::string index_directory;     // empty if indexes are in memory only
  std::uint64_t memory_limit = 0;  // bytes, of the budget
  std::uint64_t memory_used = 0;   // bytes reserved
  std::uint64_t memory_slots = 0;  // bytes, part of memory_used
  std::uint64_t memory_cache = 0;  // bytes, part of memory_used
  UserWorkersInfo user_workers;
  std::uint32_t workers = 0;         // threads that decode and transform
  std::uint32_t workers_busy = 0;    // part of workers
  std::uint64_t tasks_queued = 0;    // tasks that wait for a thread
  std::uint64_t read_cpu_nanos = 0;  // of all reads, even from memory
  std::uint32_t sessions = 0;        // connected trainers
  std::string simd_target;           // of the pixel kernels
  cuda::Inventory gpus;              // of the host
  std::vector<GpuUse> gpu_uses;      // of the GPUs that are open
  LocalReadsInfo local_reads;
  // The sources and their names, which admin.proto lists.
  std::vector<std::pair<std::string, storage::SourceState>> sources;
  // The name of the credentials for buckets; empty if no bucket was opened.
  std::string bucket_credentials;
  std::vector<RemoteRequestsInfo> remote_requests;  // an element for each job
  std::vector<std::string> warnings;                // a sentence each
};

// Returns the state of the daemon. The service calls it from any thread, at
// most a few times a second. The function must not block for I/O.
using DaemonInfoSource = std::function<DaemonInfo()>;

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_DAEMON_INFO_H_
