#ifndef FOREBAY_CLIENT_DEVICE_TENSOR_POOL_H_
#define FOREBAY_CLIENT_DEVICE_TENSOR_POOL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "client/base/status.h"
#include "client/device/gpu.h"

namespace forebay::client::device {

class TensorMemory;

// The memory of one GPU in which this process makes tensors, on the GPU's own
// stream, for frameworks whose streams are others. What comes back is given out
// again, after the streams that had it. It goes back to the driver when the
// last user closes the pool, or memory is short.
//
// Thread-safe. Shared by all that open it and by its memory, and there until
// the process ends. Take may wait for the driver, and for a GPU at rest where
// memory comes back from streams that are not known: that ends the capture of a
// CUDA graph. Close waits for the streams that had what it frees. The end of
// memory waits for neither, but for room in a stream: whoever drops a tensor
// may hold a lock that the GPU's work needs. Errors: as Gpu's.
class TensorPool : public std::enable_shared_from_this<TensorPool> {
 public:
  // The pool of CUDA's device `ordinal` of this process. Blocks and fails as
  // Gpu::Open. Each call has its Close.
  static Status Open(int ordinal, std::shared_ptr<TensorPool>* out);
  // Another pool of a GPU's; it counts as opened.
  explicit TensorPool(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~TensorPool();
  TensorPool(const TensorPool&) = delete;
  TensorPool& operator=(const TensorPool&) = delete;

  Gpu& gpu() const { return *gpu_; }
  // Memory for what the GPU's own stream does next. `bytes` > 0.
  Status Take(std::uint64_t bytes, std::unique_ptr<TensorMemory>* out);
  // Ends an Open. After the last, idle memory goes back to the driver.
  void Close();

 private:
  friend class TensorMemory;

  // By a stream that had a block.
  struct Use {
    void* stream = nullptr;
    // When it is done; null while it cannot tell, as it is captured.
    std::unique_ptr<Event> done;
  };
  struct Block {
    std::unique_ptr<OwnMemory> memory;
    std::uint64_t bytes = 0;
    std::unique_ptr<Event> made;
    std::vector<Use> uses;
    // Streams that are not known use it, too: only a GPU at rest is done.
    bool unknown_use = false;
  };
  // Of one size.
  struct Blocks {
    std::deque<Block> idle;  // the longest first
    std::size_t count = 0;   // with those in use
  };

  static void Forget(Block* block);
  // Asks the streams that had a block when they are done.
  void AskUses(Block* block);
  // Whether `test` is true of the ends of all uses, if they are known.
  template <typename Test>
  bool All(Block& block, Test test);
  bool IsDone(Block& block);
  Status Make(std::uint64_t bytes, Block* out);
  // Takes one of the idle blocks of a size of which there are `count`, or makes
  // one.
  Status Choose(std::uint64_t bytes, std::size_t count, std::deque<Block>* idle,
                Block* out);
  // Waits for the streams that had what is idle, and frees that.
  void FreeIdle();
  bool AwaitOwnStream();
  void Return(Block block);

  const std::shared_ptr<Gpu> gpu_;
  std::mutex mutex_;  // no call of the GPU's is made with it
  // Guarded by mutex_.
  std::map<std::uint64_t, Blocks> sizes_;
  std::size_t users_ = 1;
};

// The memory of one tensor, which goes back to its pool with this.
//
// Thread-safe. Keeps the pool. Never blocks, but for room in a stream, and
// Await for the own stream. Errors: as Gpu's.
class TensorMemory {
 public:
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  Gpu& gpu() const { return pool_->gpu(); }
  std::uint64_t address() const { return block_.memory->address(); }
  // Says that the GPU's own stream makes the tensor by what it has queued.
  Status Finish() { return block_.made->Record(gpu().own_stream()); }
  // Waits until it is made.
  Status Await() const { return block_.made->Await(); }
  // Has `stream` go on only once the tensor is made. It may use the tensor, and
  // exists, until this ends. FAILED_PRECONDITION if it is captured.
  Status HandOver(void* stream);
  // Streams that are not known may use the tensor, and wait for nothing.
  Status HandOverUnordered();
  // Has the own stream go on only after what those that were handed the tensor
  // have queued.
  Status HoldBackOwnStream();

 private:
  friend class TensorPool;
  TensorMemory(std::shared_ptr<TensorPool> pool, TensorPool::Block block)
      : pool_(std::move(pool)), block_(std::move(block)) {}

  const std::shared_ptr<TensorPool> pool_;
  std::mutex mutex_;
  TensorPool::Block block_;  // uses and unknown_use are guarded by mutex_
};

}  // namespace forebay::client::device

#endif  // FOREBAY_CLIENT_DEVICE_TENSOR_POOL_H_
