#include "tests/device/fake_libcuda/stream.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

namespace forebay::fake_libcuda {
namespace {

thread_local bool runs_a_stream = false;

// The interval at which a waiting thread checks whether another stream has
// failed.
constexpr std::chrono::milliseconds kLook(5);

}  // namespace

std::shared_ptr<Stream> Stream::Start(std::uint64_t seed,
                                      std::uint32_t delay_micros,
                                      StickyError& error) {
  std::shared_ptr<Stream> stream(new Stream(seed, delay_micros, error));
  // The stream's thread blocks all signals, which are for the program's
  // threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([stream] { stream->Run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return stream;
}

Stream::Stream(std::uint64_t seed, std::uint32_t delay_micros,
               StickyError& error)
    : error_(error),
      delay_micros_(delay_micros),
      random_(static_cast<std::minstd_rand::result_type>(seed % 2147483646) +
              1) {}

std::uint64_t Stream::Enqueue(Operation operation) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(operation));
  changed_.notify_all();
  return ++queued_;
}

std::uint64_t Stream::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

CUresult Stream::Query(std::uint64_t operation) const {
  const CUresult error = error_.get();
  if (error != CUDA_SUCCESS) return error;
  const std::lock_guard lock(mutex_);
  return done_ >= operation ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult Stream::Wait(std::uint64_t operation) const {
  std::unique_lock lock(mutex_);
  while (done_ < operation && error_.get() == CUDA_SUCCESS)
    changed_.wait_for(lock, kLook);
  return error_.get();
}

void Stream::Destroy() {
  const std::lock_guard lock(mutex_);
  destroyed_ = true;
  changed_.notify_all();
}

bool Stream::RunsThis() { return runs_a_stream; }

void Stream::Stall() {
  while (true) pause();
}

void Stream::Run() {
  runs_a_stream = true;
  pthread_setname_np(pthread_self(), "fake-gpu");
  while (true) {
    Operation operation;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !waiting_.empty() || destroyed_; });
      if (waiting_.empty()) return;
      operation = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (delay_micros_ != 0) {
      std::this_thread::sleep_for(
          std::chrono::microseconds(random_() % (delay_micros_ + 1)));
    }
    if (error_.get() == CUDA_SUCCESS) {
      const CUresult result = operation();
      if (result != CUDA_SUCCESS) error_.Set(result);
    }
    operation = nullptr;  // destroyed before anybody learns that it is done
    const std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace forebay::fake_libcuda
