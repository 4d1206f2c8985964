#ifndef FOREBAY_SERVER_STORAGE_INFLATED_SCRATCH_POOL_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_SCRATCH_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::storage::inflated {

// Memory for the bytes that are inflated and thrown away. Thread-safe; readers
// share it. Owns as many pieces as were ever taken at once: no more than there
// are threads that inflate. Never blocks; has no errors.
class ScratchPool {
 public:
  // What zlib refers back to lies in its window, not here, at the begin of each
  // call, and takes longer from there: 3.17 ns a byte with calls of 32
  // KiB, 2.70 ns with such ones.
  using Bytes = std::array<std::uint8_t, std::size_t{256} << 10>;

  std::unique_ptr<Bytes> Take() {
    {
      base::MutexLock lock(&mutex_);
      if (!spare_.empty()) {
        std::unique_ptr<Bytes> bytes = std::move(spare_.back());
        spare_.pop_back();
        return bytes;
      }
    }
    return std::make_unique_for_overwrite<Bytes>();
  }

  void GiveBack(std::unique_ptr<Bytes> bytes) {
    base::MutexLock lock(&mutex_);
    spare_.push_back(std::move(bytes));
  }

 private:
  base::Mutex mutex_;
  std::vector<std::unique_ptr<Bytes>> spare_ ABSL_GUARDED_BY(mutex_);
};

// One piece of it, for a while.
class Scratch {
 public:
  explicit Scratch(ScratchPool* pool) : pool_(pool), bytes_(pool->Take()) {}
  ~Scratch() { pool_->GiveBack(std::move(bytes_)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  ScratchPool::Bytes& bytes() { return *bytes_; }

 private:
  ScratchPool* const pool_;
  std::unique_ptr<ScratchPool::Bytes> bytes_;
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_SCRATCH_POOL_H_
