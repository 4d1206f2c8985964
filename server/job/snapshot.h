#ifndef FOREBAY_SERVER_JOB_SNAPSHOT_H_
#define FOREBAY_SERVER_JOB_SNAPSHOT_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/arena/channel.h"
#include "server/base/memory_budget.h"
#include "server/schedule/flow.h"
#include "server/stream/stream_snapshot.h"

namespace forebay::job {

// Identifies a job to the rooms below, which charge its work to it. Never used
// twice.
using JobId = schedule::Flow;

// A loader at one moment, with totals since it was opened.
struct LoaderSnapshot {
  std::string name;
  std::string uri;
  std::uint64_t dataset_size = 0;
  std::uint32_t batch_size = 0;
  std::uint64_t samples_per_epoch = 0;
  stream::StreamSnapshot stream;
  arena::ClientReport client;  // unchecked
  // The GPU on which its batches lie, by its number here; none: on the host.
  std::optional<int> gpu;
  std::string gpu_refusal;  // why none, although it asked for one
  // Whether the user's code makes the samples, for this loader alone.
  bool lacks_share_key = false;
  // Whether the user's code iterates for this loader alone.
  bool is_iterated_alone = false;

  // Whether an epoch is under way, or batches of one are still to be taken.
  bool running() const { return stream.running || stream.taken.ready > 0; }
};

// A request of a process that the daemon has not answered yet, and that may
// have to wait for a file system, a host, a GPU or the process itself.
struct PendingRequest {
  enum class Kind {
    kOpening,   // a loader, or a reader of single samples
    kFetching,  // single samples
    kReading,   // a file or an object
    kStarting,  // an epoch
  };
  Kind kind = Kind::kOpening;
  // The dataset, file or object; of Kind::kStarting the loader. For people.
  std::string uri;
  // The host that it waits for, "http://10.0.0.7:8080"; empty: none but this.
  std::string host;
  std::int64_t since_nanos = 0;  // monotonic
};

struct JobSnapshot {
  JobId id = 0;
  std::string key;
  std::string name;
  double weight = 1;
  // Caps, as JobChange says.
  double max_read = std::numeric_limits<double>::infinity();
  double max_cpus = std::numeric_limits<double>::infinity();
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> pids;
  std::vector<LoaderSnapshot> loaders;
  std::vector<PendingRequest> pending;  // the oldest first
};

// A copy of a published slot: a proto::BatchHeader, and the data that it
// describes.
struct PeekedBatch {
  base::MemoryReservation reservation;  // of `slot`
  std::vector<std::uint8_t> slot;
  proto::PipelineSpec pipeline;
  std::vector<std::string> classes;
};

// Answers what the admin room asks about jobs. Thread-safe. The daemon owns it.
// Does not block for I/O.
class Introspection {
 public:
  virtual ~Introspection() = default;

  // Returns all jobs, sorted by name, then key. Each loader's snapshot is
  // consistent in itself.
  virtual std::vector<JobSnapshot> Snapshot() const = 0;

  // Returns the batch that was published last. `job` is a key or a name;
  // `loader` is a name, or empty for the first that runs. NOT_FOUND names the
  // jobs or loaders that exist; FAILED_PRECONDITION: several jobs have that
  // name; UNAVAILABLE: there is no batch yet.
  virtual absl::StatusOr<PeekedBatch> Peek(const std::string& job,
                                           const std::string& loader) const = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_SNAPSHOT_H_
