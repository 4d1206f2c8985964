#include "server/dataset/object_listing.h"

#include <utility>

#include "server/base/mutex.h"

namespace forebay::dataset {

absl::Status TakeObjects(
    storage::ObjectLister& lister, const storage::Root& root,
    const std::stop_token& stop,
    const std::function<absl::Status(storage::ListedObject)>& take) {
  // The lister calls from several threads, so the mutex makes `take`
  // sequential.
  base::Mutex mutex;
  absl::Status taken;
  std::stop_source end;  // requested by the caller, or when `take` fails
  const std::stop_callback on_stop(stop, [&end] { end.request_stop(); });
  const absl::Status listed = lister.List(
      root,
      [&](storage::ListedObject object) {
        base::MutexLock lock(&mutex);
        if (!taken.ok()) return;
        taken = take(std::move(object));
        if (!taken.ok()) end.request_stop();
      },
      end.get_token());
  return taken.ok() ? listed : taken;
}

}  // namespace forebay::dataset
