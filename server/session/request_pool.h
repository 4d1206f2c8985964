#ifndef FOREBAY_SERVER_SESSION_REQUEST_POOL_H_
#define FOREBAY_SERVER_SESSION_REQUEST_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::session {

// Threads for requests that may block (scanning a dataset, clearing memory), so
// that the event loop never does. Thread-safe; the caller owns it. Destruction
// drops requests that have not begun, and waits for the rest. Run does not
// block. No errors.
class RequestPool {
 public:
  explicit RequestPool(int threads);
  ~RequestPool();

  void Run(std::function<void()> request);

 private:
  void Work();

  base::Mutex mutex_;
  base::CondVar wake_;
  std::deque<std::function<void()>> requests_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_REQUEST_POOL_H_
