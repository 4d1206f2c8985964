#ifndef FOREBAY_TOOLS_FOREBAYCTL_RATES_H_
#define FOREBAY_TOOLS_FOREBAYCTL_RATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/admin.pb.h"
#include "tools/forebayctl/pending.h"

namespace forebay::ctl {

// The work of a job between two lists, summed over its loaders. Reads by origin
// are counted when they are done, and for closed loaders too.
struct JobRates {
  std::string name;
  double images_per_second = 0;           // delivered
  double decodes_per_second = 0;          // its part of those that are shared
  double bytes_read_per_second = 0;       // from anywhere
  double memory_bytes_per_second = 0;     // of these, from the cache's memory
  double shared_bytes_per_second = 0;     // from another read of the same
  double disk_bytes_per_second = 0;       // from the cache's tier on disk
  double source_bytes_per_second = 0;     // from the source
  double network_bytes_per_second = 0;    // received for it from other hosts
  double bytes_delivered_per_second = 0;  // of batches
  double gpu_bytes_per_second = 0;        // of these, of batches on GPUs
  bool on_gpu = false;                    // whether a loader has its there
  double cpu_cores = 0;                   // decoding and transforming
  double trainer_wait = 0;                // part of the time, 0 to 1
  std::uint32_t slots_ready = 0;          // at the later list
  std::uint32_t slots = 0;
  bool running = false;
  PendingRequests pending;  // at the later list
  // Of its loader that is the furthest behind at the later list, in words.
  std::string sharing = "-";
};

// Returns one entry for each job of `after`, in its order. Loaders and jobs
// that `before` lacks, or has with higher counters (they were opened anew),
// count from zero. All rates are 0 if no time has passed. Thread-safe; nothing
// blocks or fails.
std::vector<JobRates> RatesBetween(const proto::JobList& before,
                                   const proto::JobList& after);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_RATES_H_
