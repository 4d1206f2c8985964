#ifndef FOREBAY_SERVER_JOB_JOB_SNAPSHOT_H_
#define FOREBAY_SERVER_JOB_JOB_SNAPSHOT_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/memory_budget.h"
#include "server/schedule/flow.h"
#include "server/slots/channel.h"
#include "server/stream/stream_snapshot.h"

namespace forebay::job {

// The number by which the rooms below know a job and charge work to it. No
// number is used twice.
using JobId = schedule::Flow;

// A loader at one moment, with totals since it was opened.
struct LoaderSnapshot {
  std::string name;
  std::string uri;
  std::uint64_t dataset_size = 0;
  std::uint32_t batch_size = 0;
  std::uint64_t samples_per_epoch = 0;
  stream::StreamSnapshot stream;
  slots::ClientReport client;  // as the client wrote it, unchecked
  // The number, on this host, of the GPU that has the loader's batches; nullopt
  // if the host's memory has them.
  std::optional<int> gpu;
  // The reason why no GPU has the batches although the loader asked for one.
  std::string gpu_refusal;
  // Whether workers make the samples for this loader alone, because it has no
  // key for sharing them.
  bool lacks_share_key = false;
  // Whether workers iterate over the dataset for this loader alone. A key for
  // sharing would have no effect.
  bool is_iterated_alone = false;

  // Returns the loader's counters, including the counters that the client
  // reports.
  proto::LoaderCounters Counters() const {
    proto::LoaderCounters counters = stream.counters;
    counters.set_trainer_wait_nanos(client.wait_nanos);
    counters.set_batches_copied(client.batches_copied);
    counters.set_trainer_waiting(client.waiting);
    return counters;
  }

  // Returns whether an epoch is under way, or has batches that the client has
  // not taken.
  bool running() const { return stream.running || stream.untaken > 0; }
};

// A process's request that the daemon has not answered yet. The request may
// have to wait for a file system, a host, a GPU or the process itself.
struct PendingRequest {
  enum class Kind {
    kOpening,   // a loader, or a reader of single samples
    kFetching,  // single samples
    kReading,   // a file or an object
    kStarting,  // an epoch
  };
  Kind kind = Kind::kOpening;
  // The name of the dataset, file or object, for people.
  std::string uri;
  // The host that the request waits for, such as "http://10.0.0.7:8080"; empty
  // if it is this host.
  std::string host;
  std::int64_t since_nanos = 0;  // monotonic
};

// A job at one moment.
struct JobSnapshot {
  JobId id = 0;
  std::string key;
  std::string name;
  double weight = 1;
  // The caps, in the units of JobChange.
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

  // Returns the batch that a loader published last. `job` is a key or a name.
  // `loader` is a name, or empty for the first loader that runs.
  //
  // NOT_FOUND: there is no such job or loader; the message names those that
  // exist. FAILED_PRECONDITION: several jobs have that name. UNAVAILABLE: no
  // batch was published yet. RESOURCE_EXHAUSTED: the budget has no room.
  virtual absl::StatusOr<PeekedBatch> Peek(const std::string& job,
                                           const std::string& loader) const = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_JOB_SNAPSHOT_H_
