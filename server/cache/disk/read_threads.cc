#include "server/cache/disk/read_threads.h"

#include <pthread.h>

#include <cstdio>
#include <utility>

#include "server/base/check.h"
#include "server/base/start_thread.h"
#include "server/cache/disk/record_reader.h"

namespace forebay::cache::disk {

static_assert(ReadThreads::kScratchBytes >= kMinScratchBytes);

ReadThreads::ReadThreads(int threads, Serve serve) : serve_(std::move(serve)) {
  FOREBAY_CHECK(threads > 0);
  threads_.reserve(threads);
  for (int thread = 0; thread < threads; ++thread) {
    std::thread started = base::StartThread([this, thread] { Work(thread); });
    if (!started.joinable()) break;
    threads_.push_back(std::move(started));
  }
}

ReadThreads::~ReadThreads() { Stop(); }

void ReadThreads::Stop() {
  {
    base::MutexLock lock(&mutex_);
    ending_ = true;
  }
  read_or_end_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool ReadThreads::Push(Read&& read) {
  const storage::ReadPurpose purpose = read.request.purpose;
  const std::int64_t cost = read.found.location.bytes;
  {
    base::MutexLock lock(&mutex_);
    if (ending_) return false;
    queue_.Push(purpose.job, cost, purpose.urgency, std::move(read));
  }
  read_or_end_.NotifyOne();
  return true;
}

std::vector<ReadThreads::Read> ReadThreads::TakeQueued() {
  std::vector<Read> queued;
  base::MutexLock lock(&mutex_);
  while (auto next = queue_.Pop()) {
    // The job is not charged for a read that the disk does not serve.
    queue_.Complete(next->flow, next->cost, /*actual=*/0);
    queued.push_back(std::move(next->item));
  }
  return queued;
}

void ReadThreads::SetWeight(schedule::Flow job, double weight) {
  base::MutexLock lock(&mutex_);
  queue_.SetWeight(job, weight);
}

void ReadThreads::Forget(schedule::Flow job) {
  base::MutexLock lock(&mutex_);
  queue_.Forget(job);
}

std::optional<ReadThreads::Popped> ReadThreads::Await() {
  base::MutexLock lock(&mutex_);
  for (;;) {
    if (auto next = queue_.Pop()) return next;
    if (ending_) return std::nullopt;
    read_or_end_.Wait(&mutex_);
  }
}

void ReadThreads::Work(int thread) {
  char name[16];
  std::snprintf(name, sizeof(name), "forebay-ssd-%d", thread);
  pthread_setname_np(pthread_self(), name);
  const PageBuffer scratch(kScratchBytes);
  while (std::optional<Popped> next = Await()) {
    serve_(std::move(next->item), scratch);
    base::MutexLock lock(&mutex_);
    queue_.Complete(next->flow, next->cost, next->cost);
  }
}

}  // namespace forebay::cache::disk
