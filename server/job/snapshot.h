#ifndef FOREBAY_SERVER_JOB_SNAPSHOT_H_
#define FOREBAY_SERVER_JOB_SNAPSHOT_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/memory_budget.h"
#include "server/schedule/flow.h"
#include "server/stream/sharing_state.h"

namespace forebay::job {

// Totals since a loader was opened. What the client says of itself is not
// checked.
struct LoaderCounters {
  std::uint64_t samples_delivered = 0;
  std::uint64_t batches_delivered = 0;
  std::uint64_t bytes_delivered = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t samples_decoded = 0;
  std::uint64_t samples_substituted = 0;
  std::uint64_t cpu_nanos = 0;
  std::uint64_t trainer_wait_nanos = 0;  // said by the client
  std::uint64_t batches_copied = 0;      // said by the client
  bool trainer_waiting = false;          // said by the client
};

// What of a loader is where, at one moment.
struct LoaderQueues {
  std::uint32_t slots = 0;
  std::uint32_t slots_free = 0;
  std::uint32_t slots_filling = 0;
  std::uint32_t slots_kept = 0;  // finished, for who may come to them
  std::uint32_t slots_ready = 0;
  std::uint32_t slots_leased = 0;
  std::uint32_t depth = 0;  // batches that may be in the making or ready
  std::uint32_t reads_in_flight = 0;
  std::uint32_t samples_to_decode = 0;
  std::uint64_t bytes_in_flight = 0;
  std::uint64_t window_bytes = 0;  // that may be
};

// How a loader stands to others that get the same batches.
struct LoaderSharing {
  std::uint32_t members = 0;  // that have an epoch under way, itself included
  std::uint64_t behind = 0;   // samples, of who is ahead of all
  stream::SharingState sharing_state = stream::SharingState::kAlone;
};

struct LoaderSnapshot {
  std::string name;
  std::string uri;
  std::uint64_t dataset_size = 0;
  std::uint32_t batch_size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // samples of this rank delivered in this epoch
  std::uint64_t samples_per_epoch = 0;
  bool running = false;
  LoaderCounters counters;
  LoaderQueues queues;
  LoaderSharing sharing;
};

struct JobSnapshot {
  // What the rooms below know it by; no other job ever has it.
  schedule::Flow flow = 0;
  std::string key;
  std::string name;
  double weight = 1;
  // Caps, as JobChange says.
  double max_read = std::numeric_limits<double>::infinity();
  double max_cpus = std::numeric_limits<double>::infinity();
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> pids;
  std::vector<LoaderSnapshot> loaders;
};

// A copy of a published slot: a proto::BatchHeader and the data that it
// describes.
struct PeekedBatch {
  base::MemoryReservation reservation;  // of `slot`
  std::vector<std::uint8_t> slot;
  proto::PipelineSpec pipeline;
  std::vector<std::string> classes;
};

// What the admin room may ask about jobs. Thread-safe; does not block for I/O.
class Introspection {
 public:
  virtual ~Introspection() = default;

  // Every job, sorted by name then key: one consistent snapshot a loader.
  virtual std::vector<JobSnapshot> Snapshot() const = 0;

  // The batch published last. `job` is a key or a name, `loader` a name or
  // empty: the first that runs. NOT_FOUND names what there is;
  // FAILED_PRECONDITION: several jobs are called so; UNAVAILABLE: no batch yet.
  virtual absl::StatusOr<PeekedBatch> Peek(const std::string& job,
                                           const std::string& loader) const = 0;
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_SNAPSHOT_H_
