#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_SCRATCH_POOL_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_SCRATCH_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::storage::compressed {

// Memory for bytes that are decompressed only to be thrown away.
//
// Thread-safe; readers share it. The pool owns as many buffers as were ever
// taken at once: no more than there are threads that decompress. Never blocks;
// has no errors.
class ScratchPool {
 public:
  // A buffer of 256 KiB. Short buffers are slower, because zlib refers back to
  // its own window at the beginning of each call: 3.17 ns a byte with calls of
  // 32 KiB, 2.70 ns with calls of 256 KiB.
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
  // The buffers that nobody has taken.
  std::vector<std::unique_ptr<Bytes>> spare_ ABSL_GUARDED_BY(mutex_);
};

// A buffer of a ScratchPool, for as long as this object lives. Not thread-safe;
// the pool outlives it. Never blocks; has no errors.
class DecompressionScratch {
 public:
  explicit DecompressionScratch(ScratchPool* pool)
      : pool_(pool), bytes_(pool->Take()) {}
  ~DecompressionScratch() { pool_->GiveBack(std::move(bytes_)); }
  DecompressionScratch(const DecompressionScratch&) = delete;
  DecompressionScratch& operator=(const DecompressionScratch&) = delete;

  ScratchPool::Bytes& bytes() { return *bytes_; }

 private:
  ScratchPool* const pool_;
  std::unique_ptr<ScratchPool::Bytes> bytes_;
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_SCRATCH_POOL_H_
