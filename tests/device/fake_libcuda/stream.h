#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_STREAM_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_STREAM_H_

#include <cuda.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>

namespace forebay::fake_libcuda {

// The error that ended the process's use of its GPUs; the first one stays.
// Thread-safe; never blocks.
class StickyError {
 public:
  CUresult get() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  void Set(CUresult error) {
    const std::lock_guard lock(mutex_);
    if (error_ == CUDA_SUCCESS) error_ = error;
  }

 private:
  mutable std::mutex mutex_;
  CUresult error_ = CUDA_SUCCESS;  // guarded by mutex_
};

// A queue of operations. A thread of the stream's does each operation after a
// random pause. After a sticky error, queued operations are dropped, and nobody
// is told.
//
// Thread-safe. The thread keeps the stream alive until the program has
// destroyed it and its queue is empty. Wait blocks; all other functions do not.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // An operation of a stream; its error is sticky.
  using Operation = std::function<CUresult()>;

  static std::shared_ptr<Stream> Start(std::uint64_t seed,
                                       std::uint32_t delay_micros,
                                       StickyError& error);

  // Queues an operation. Returns its number, which counts from 1.
  std::uint64_t Enqueue(Operation operation);
  // The number of the operation that was queued last.
  std::uint64_t queued() const;
  // Returns CUDA_SUCCESS if that operation, and so all before it, is done.
  CUresult Query(std::uint64_t operation) const;
  CUresult Wait(std::uint64_t operation) const;
  // Ends the stream's thread once the queue is empty.
  void Destroy();

  // Whether the calling thread is a stream's: a host function runs.
  static bool RunsThis();
  // Blocks the calling thread for ever, as an operation that never ends does.
  [[noreturn]] static void Stall();

 private:
  Stream(std::uint64_t seed, std::uint32_t delay_micros, StickyError& error);
  void Run();

  StickyError& error_;
  const std::uint32_t delay_micros_;
  std::minstd_rand random_;  // of the thread
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // The members below are guarded by mutex_.
  std::deque<Operation> waiting_;
  std::uint64_t queued_ = 0;
  std::uint64_t done_ = 0;
  bool destroyed_ = false;
};

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_STREAM_H_
