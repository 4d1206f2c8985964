#ifndef FOREBAY_TOOLS_FOREBAYCTL_RATES_H_
#define FOREBAY_TOOLS_FOREBAYCTL_RATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/admin.pb.h"

namespace forebay::ctl {

// What a job did between two lists: sums over its loaders. What of its reads
// came from where is counted when they are done, for loaders that were closed,
// too.
struct JobRates {
  std::string name;
  double images_per_second = 0;           // delivered
  double decodes_per_second = 0;          // booked to it, of all that share
  double bytes_read_per_second = 0;       // wherever they came from
  double memory_bytes_per_second = 0;     // of them: the cache had them
  double shared_bytes_per_second = 0;     // another had begun to read them
  double disk_bytes_per_second = 0;       // the cache's tier on disk had them
  double source_bytes_per_second = 0;     // were read
  double network_bytes_per_second = 0;    // came for it from other hosts
  double bytes_delivered_per_second = 0;  // of batches
  double cpu_cores = 0;                   // decoding and transforming
  double trainer_wait = 0;                // 0 to 1, of the time
  std::uint32_t slots_ready = 0;          // at the later list
  std::uint32_t slots = 0;
  bool running = false;
  // In words, of its loader that is the furthest behind at the later list.
  std::string sharing = "-";
};

// One entry for each job of `after`, in its order. What `before` does not know,
// or knows with higher counters (it was opened anew), counts from zero. All
// rates are 0 where no time has passed. Thread-safe; nothing blocks or fails.
std::vector<JobRates> RatesBetween(const proto::JobList& before,
                                   const proto::JobList& after);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_RATES_H_
