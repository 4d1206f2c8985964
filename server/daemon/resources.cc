#include "server/daemon/resources.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/base/byte_size.h"
#include "server/base/cgroup.h"
#include "server/base/cpu_share.h"
#include "server/base/status.h"
#include "server/daemon/cache_memory.h"
#include "server/daemon/scratch_memory.h"
#include "server/executor/thread_pool_executor.h"
#include "server/storage/local/local_root.h"

namespace forebay::daemon {

// A percentage refers to the memory that the cgroup allows. The cache's
// percentage refers to the daemon's limit, and the percentage of decoded
// variants refers to the cache. A limit that this host cannot meet gives a
// warning and not an error, because the daemon can still serve smaller loads.
absl::StatusOr<Resources> MeasureResources(const proto::Config& config) {
  Resources resources;
  const base::CgroupLimits limits = base::ReadCgroupLimits();
  FOREBAY_ASSIGN_OR_RETURN(
      resources.memory,
      base::ParseByteSize(config.memory().limit(), limits.memory_bytes));
  FOREBAY_ASSIGN_OR_RETURN(
      resources.cache, CacheMemory(config.cache().memory(), resources.memory));
  FOREBAY_ASSIGN_OR_RETURN(
      resources.user_code_memory,
      base::ParseByteSize(config.producer().memory(), limits.memory_bytes));
  resources.variants = resources.cache;
  if (const std::string& variants = config.cache().decoded();
      variants != "auto" && variants != "off") {
    FOREBAY_ASSIGN_OR_RETURN(resources.variants,
                             base::ParseByteSize(variants, resources.cache));
  }
  if (limits.memory_bytes != 0 && resources.memory > limits.memory_bytes) {
    resources.warnings.push_back(
        absl::StrCat("memory.limit is ", resources.memory >> 20,
                     " MiB, but this machine or the daemon's cgroup has ",
                     limits.memory_bytes >> 20,
                     ": the kernel will end the daemon when that is used up"));
  }
  if (const auto status = storage::local::LocalRoot::Supported(); !status.ok())
    resources.warnings.push_back(
        absl::StrCat("no local dataset can be opened: ", status.message()));
  FOREBAY_ASSIGN_OR_RETURN(
      const double max_cpus,
      base::ParseCpuShare(config.cpu().limit(), limits.cpus));
  // More threads than the CPUs that cpu.limit allows would only wait for one
  // another.
  resources.cpus =
      config.cpu().workers() != 0
          ? static_cast<int>(config.cpu().workers())
          : std::min(limits.cpus, static_cast<int>(std::ceil(max_cpus)));
  resources.max_cpus = max_cpus < resources.cpus
                           ? max_cpus
                           : std::numeric_limits<double>::infinity();
  FOREBAY_ASSIGN_OR_RETURN(
      const std::uint64_t scratch,
      base::ParseByteSize(config.image().scratch_limit(), limits.memory_bytes));
  const int places = executor::ThreadPoolExecutor::PlacesFor(resources.cpus);
  const ScratchMemory shares =
      ShareOutScratch(scratch, resources.memory, places);
  resources.scratch = shares.total(places);
  resources.workspace = {.max_pixels = config.image().max_pixels(),
                         .scratch_bytes = shares.place,
                         .larger_scratch_bytes = shares.shared};
  return resources;
}

}  // namespace forebay::daemon
