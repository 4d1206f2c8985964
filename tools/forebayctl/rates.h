#ifndef FOREBAY_TOOLS_FOREBAYCTL_RATES_H_
#define FOREBAY_TOOLS_FOREBAYCTL_RATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/admin.pb.h"
#include "tools/forebayctl/pending.h"

namespace forebay::ctl {

// The work of a job between two lists of jobs, summed over its loaders. Reads
// by tier (memory, shared, disk, source) count when they are done. The reads of
// closed loaders count too.
struct JobRates {
  std::string name;
  double images_per_second = 0;         // delivered
  double decodes_per_second = 0;        // with its part of shared decodes
  double bytes_read_per_second = 0;     // from all tiers
  double memory_bytes_per_second = 0;   // from the cache's memory
  double shared_bytes_per_second = 0;   // from reads that others began
  double disk_bytes_per_second = 0;     // from the cache's tier on disk
  double source_bytes_per_second = 0;   // from the source
  double network_bytes_per_second = 0;  // received from other hosts for the job
  double bytes_delivered_per_second = 0;  // in batches
  double gpu_bytes_per_second = 0;        // in batches on GPUs
  bool on_gpu = false;                    // whether batches are on a GPU
  double cpu_cores = 0;                   // CPUs that decode and transform
  double trainer_wait = 0;  // part of the time in which trainers wait, 0 to 1
  std::uint32_t slots_ready = 0;  // at the later list
  std::uint32_t slots = 0;        // at the later list
  bool running = false;           // whether a loader runs an epoch
  PendingRequests pending;        // at the later list
  // The sharing, in words, of the loader that is the furthest behind at the
  // later list.
  std::string sharing = "-";
};

// Returns an element for each job of `after`, in its order. Loaders and jobs
// that are not in `before` count from zero. If a counter has fallen, its loader
// or job was opened anew and also counts from zero. All rates are 0 if no time
// has passed. Thread-safe; never blocks; has no errors.
std::vector<JobRates> RatesBetween(const proto::JobList& before,
                                   const proto::JobList& after);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_RATES_H_
