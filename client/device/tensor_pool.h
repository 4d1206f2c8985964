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
// stream, for frameworks that use other streams. Memory of destroyed tensors is
// reused for later tensors, after all work of the streams that used it. Idle
// memory goes back to the driver when the last user closes the pool, or when
// memory is short.
//
// Thread-safe. Callers of Open and each TensorMemory share the pool. A pool
// that Open has made exists until the process ends, unless its GPU is lost.
// Take may wait for the driver. Take may also wait until the GPU is idle, if
// unknown streams used the memory; that wait ends the capture of a CUDA graph.
// Close waits for the streams that used the memory which it frees. The
// destruction of a TensorMemory waits only for room in a stream, because its
// caller may hold a lock that the GPU's work needs. Errors: those of Gpu.
class TensorPool : public std::enable_shared_from_this<TensorPool> {
 public:
  // Opens the pool of CUDA's device `ordinal` of this process. Blocks and fails
  // as Gpu::Open does. The caller calls Close once for each Open.
  static Status Open(int ordinal, std::shared_ptr<TensorPool>* out);
  // Makes a pool that Open never returns. The pool has one user from the start.
  explicit TensorPool(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~TensorPool();
  TensorPool(const TensorPool&) = delete;
  TensorPool& operator=(const TensorPool&) = delete;

  Gpu& gpu() const { return *gpu_; }
  // Takes memory that the GPU's own stream may write from now on. `bytes` must
  // not be 0. RESOURCE_EXHAUSTED: the GPU has no memory left.
  Status Take(std::uint64_t bytes, std::unique_ptr<TensorMemory>* out);
  // Ends one user's use of the pool. When the last user calls it, idle memory
  // goes back to the driver.
  void Close();

 private:
  friend class TensorMemory;

  // The use of a block by a single stream.
  struct Use {
    void* stream = nullptr;
    // The event after the stream's work; null while the stream is captured,
    // because it then cannot record events.
    std::unique_ptr<Event> done;
  };
  // The memory of one tensor.
  struct Block {
    std::unique_ptr<OwnMemory> memory;
    std::uint64_t bytes = 0;
    std::unique_ptr<Event> ready;  // reached when the tensor is made
    std::vector<Use> uses;
    // Whether unknown streams use the block, too. Their work is known to be
    // done only once the GPU is idle.
    bool unknown_use = false;
  };
  // All blocks of one size.
  struct Blocks {
    std::deque<Block> idle;  // the longest idle block first
    std::size_t count = 0;   // the number of blocks, idle or in use
  };

  // Clears `uses` and unknown_use of a block whose uses are all over.
  static void Forget(Block* block);
  // Records an event on each stream that uses a block, unless the stream is
  // captured.
  void AskUses(Block* block);
  // Whether all uses of the block are known and `test` returns true for the
  // event of each use.
  template <typename Test>
  bool All(Block& block, Test test);
  // Whether all uses of the block are over.
  bool IsDone(Block& block);
  // Allocates a block. If the GPU has no memory left, calls FreeIdle and tries
  // again.
  Status Make(std::uint64_t bytes, Block* out);
  // Takes one of the `idle` blocks, all of `bytes` bytes, or makes such a
  // block. `count`: the number of blocks of the size, idle or in use.
  Status Choose(std::uint64_t bytes, std::size_t count, std::deque<Block>* idle,
                Block* out);
  // Waits for the streams that used idle blocks, and frees those blocks.
  void FreeIdle();
  // Waits for the GPU's own stream. Returns false if the GPU fails.
  bool AwaitOwnStream();
  // Adds a block to the idle ones, because its tensor was destroyed.
  void Return(Block block);

  const std::shared_ptr<Gpu> gpu_;
  // Not held while a method of gpu_ runs, because the method may wait for
  // another thread.
  std::mutex mutex_;
  // Blocks by their size in bytes. Guarded by mutex_.
  std::map<std::uint64_t, Blocks> sizes_;
  // The number of users that have not called Close yet. Guarded by mutex_.
  std::size_t users_ = 1;
};

// The memory of one tensor. The memory goes back to the pool when this object
// is destroyed.
//
// Thread-safe. Shares the pool. Blocks only for room in a stream; Await also
// blocks for the GPU's own stream. Errors: those of Gpu.
class TensorMemory {
 public:
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  Gpu& gpu() const { return pool_->gpu(); }
  std::uint64_t address() const { return block_.memory->address(); }
  // Tells the pool that all work which makes the tensor is queued on the GPU's
  // own stream. The tensor is made once that stream has done this work.
  Status Finish() { return block_.ready->Record(gpu().own_stream()); }
  // Waits until the tensor is made.
  Status Await() const { return block_.ready->Await(); }
  // Lets `stream` use the tensor, and makes it wait until the tensor is made.
  // The stream must exist until this object is destroyed. FAILED_PRECONDITION
  // if the stream is captured.
  Status HandOver(void* stream);
  // Lets unknown streams use the tensor. These streams do not wait until the
  // tensor is made.
  Status HandOverUnordered();
  // Makes the GPU's own stream wait for all work queued so far on the streams
  // to which the tensor was handed over.
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
