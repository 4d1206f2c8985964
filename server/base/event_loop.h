#ifndef FOREBAY_SERVER_BASE_EVENT_LOOP_H_
#define FOREBAY_SERVER_BASE_EVENT_LOOP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"

namespace forebay::base {

// Waits for descriptors and runs callbacks, all on the thread that runs it.
//
// Post and Stop may be called from any thread, everything else on the loop's
// own thread, or before Run. The caller owns it and the watched descriptors,
// which it unwatches before closing. Callbacks must not block. Errors:
// Create's, Add's and Every's (INTERNAL, RESOURCE_EXHAUSTED).
class EventLoop {
 public:
  using Watch = std::uint64_t;

  static absl::StatusOr<std::unique_ptr<EventLoop>> Create();

  // Calls `ready` with the epoll events that occurred. Level-triggered.
  absl::StatusOr<Watch> Add(int fd, std::uint32_t events,
                            std::function<void(std::uint32_t events)> ready);
  void SetEvents(Watch watch, std::uint32_t events);
  // Ends a watch. No further call comes, even for events that have occurred.
  void Remove(Watch watch);
  // Calls `tick` again and again, `period_nanos` apart.
  absl::Status Every(std::int64_t period_nanos, std::function<void()> tick);

  // Runs `task` on the loop's thread, soon.
  void Post(std::function<void()> task);

  // Returns after Stop.
  void Run();
  void Stop();

 private:
  struct Watched {
    int fd;
    std::function<void(std::uint32_t)> ready;
  };

  EventLoop(Fd epoll, Fd wake)
      : epoll_(std::move(epoll)), wake_(std::move(wake)) {}
  void RunPosted();

  const Fd epoll_;
  const Fd wake_;  // an eventfd
  std::vector<std::unique_ptr<Fd>> timers_;
  std::map<Watch, std::shared_ptr<Watched>> watched_;
  Watch last_watch_ = 0;
  std::atomic<bool> stopped_ = false;

  Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_EVENT_LOOP_H_
