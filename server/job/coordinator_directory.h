#ifndef FOREBAY_SERVER_JOB_COORDINATOR_DIRECTORY_H_
#define FOREBAY_SERVER_JOB_COORDINATOR_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/stream/coordinator.h"
#include "server/stream/stream_spec.h"

namespace forebay::job {

// The coordinators of coordinated orders. Loaders of one user that read the
// same dataset, and can use the same decoded variant of its images, share one.
// It lives as long as one of them holds it. Thread-safe; never blocks; no
// errors.
class CoordinatorDirectory {
 public:
  // Returns the coordinator for the loader of the stream; makes it if there is
  // none. `room`: bytes that variants may take. The budget outlives it.
  std::shared_ptr<stream::Coordinator> For(
      std::uint32_t uid, const stream::StreamSpec& stream_spec,
      std::uint64_t room, base::MemoryBudget* budget);

 private:
  // uid, the number of the dataset, the number of the variant.
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;

  base::Mutex mutex_;
  std::map<Key, std::weak_ptr<stream::Coordinator>> coordinators_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_COORDINATOR_DIRECTORY_H_
