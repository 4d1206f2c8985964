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

// Finds the coordinators of coordinated orders. Loaders share a coordinator if
// they belong to one user, read the same dataset, and can use the same decoded
// form (variant) of its images. Thread-safe. The loader opener owns the
// directory; the loaders own their coordinator together. Never blocks. Has no
// errors.
class CoordinatorDirectory {
 public:
  // Returns the coordinator for the stream's loader, or a new one if there is
  // none. `room` is the number of bytes that variants may take. The budget
  // outlives the coordinator.
  std::shared_ptr<stream::Coordinator> For(
      std::uint32_t uid, const stream::StreamSpec& stream_spec,
      std::uint64_t room, base::MemoryBudget* budget);

 private:
  // The uid, the number of the dataset, and the number of the variant.
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;

  base::Mutex mutex_;
  std::map<Key, std::weak_ptr<stream::Coordinator>> coordinators_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_COORDINATOR_DIRECTORY_H_
