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

// Waits for descriptors to become ready, and calls back on the thread that
// called Run.
//
// Post and Stop may be called from any thread; all other methods only on the
// loop's own thread, or before Run. The caller owns the loop and the watched
// descriptors, and removes a watch before it closes the descriptor. Run blocks
// until Stop; callbacks must not block. Create, Add and Every return INTERNAL
// or RESOURCE_EXHAUSTED if the system refuses a descriptor.
class EventLoop {
 public:
  using Watch = std::uint64_t;

  static absl::StatusOr<std::unique_ptr<EventLoop>> Create();

  // Watches `fd` for `events` (EPOLLIN, EPOLLOUT). Calls `ready` with the epoll
  // events that occurred, again and again while they last (level-triggered).
  absl::StatusOr<Watch> Add(int fd, std::uint32_t events,
                            std::function<void(std::uint32_t events)> ready);
  // Replaces the events that `watch`, which must exist, waits for.
  void SetEvents(Watch watch, std::uint32_t events);
  // Ends a watch. No further call comes, even for events that have occurred.
  void Remove(Watch watch);
  // Calls `tick` every `period_nanos` as long as the loop lives.
  absl::Status Every(std::int64_t period_nanos, std::function<void()> tick);

  // Queues `task` to run once on the loop's thread.
  void Post(std::function<void()> task);

  // Waits and calls back until Stop is called.
  void Run();
  // Makes Run return after the callbacks of its current round.
  void Stop();

 private:
  struct Watched {
    int fd;
    std::function<void(std::uint32_t)> ready;
  };

  EventLoop(Fd epoll, Fd wake)
      : epoll_(std::move(epoll)), wake_(std::move(wake)) {}
  // Runs the tasks that were posted before this call.
  void RunPosted();

  const Fd epoll_;
  const Fd wake_;                            // an eventfd, written by Post
  std::vector<std::unique_ptr<Fd>> timers_;  // a timerfd for each Every
  // Each entry is shared with the round that calls it, so that a callback may
  // remove its own watch.
  std::map<Watch, std::shared_ptr<Watched>> watched_;
  Watch last_watch_ = 0;
  std::atomic<bool> stopped_ = false;

  Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_EVENT_LOOP_H_
