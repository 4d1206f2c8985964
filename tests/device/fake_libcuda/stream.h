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

// The error after which the process cannot use its GPUs. The first error stays.
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

// A queue of operations. The stream's thread runs each operation after a random
// pause. After a sticky error, queued operations are dropped without notice.
//
// Thread-safe. The thread keeps the Stream alive until Destroy was called and
// the queue is empty. Wait blocks; the other functions, except Stall, do not.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // An operation of a stream. If it returns an error, the error is sticky.
  using Operation = std::function<CUresult()>;

  static std::shared_ptr<Stream> Start(std::uint64_t seed,
                                       std::uint32_t delay_micros,
                                       StickyError& error);

  // Queues an operation. Returns its number, which counts from 1.
  std::uint64_t Enqueue(Operation operation);
  // The number of the operation that was queued last.
  std::uint64_t queued() const;
  // Returns CUDA_SUCCESS if `operation`, and thus every earlier one, is done.
  CUresult Query(std::uint64_t operation) const;
  CUresult Wait(std::uint64_t operation) const;
  // Ends the stream's thread once the queue is empty.
  void Destroy();

  // Whether the calling thread is a stream's thread, which runs a host
  // function.
  static bool RunsThis();
  // Blocks the calling thread for ever, as an operation that never ends does.
  [[noreturn]] static void Stall();

 private:
  Stream(std::uint64_t seed, std::uint32_t delay_micros, StickyError& error);
  void Run();

  StickyError& error_;
  const std::uint32_t delay_micros_;
  std::minstd_rand random_;  // used by the stream's thread
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
