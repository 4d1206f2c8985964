#include "server/session/request_pool.h"

#include <pthread.h>

#include <utility>

namespace forebay::session {

RequestPool::RequestPool(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
    pthread_setname_np(threads_.back().native_handle(), "forebay-request");
  }
}

RequestPool::~RequestPool() {
  {
    base::MutexLock lock(&mutex_);
    stopping_ = true;
    requests_.clear();
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void RequestPool::Run(std::function<void()> request) {
  {
    base::MutexLock lock(&mutex_);
    if (stopping_) return;
    requests_.push_back(std::move(request));
  }
  wake_.NotifyOne();
}

void RequestPool::Work() {
  while (true) {
    std::function<void()> request;
    {
      base::MutexLock lock(&mutex_);
      while (requests_.empty() && !stopping_) wake_.Wait(&mutex_);
      if (stopping_) return;
      request = std::move(requests_.front());
      requests_.pop_front();
    }
    request();
  }
}

}  // namespace forebay::session
