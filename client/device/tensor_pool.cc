#include "client/device/tensor_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

// How memory is reused without waiting. A tensor is made on the GPU's own
// stream, and handed to streams of a framework, which read the tensor later.
// When the framework drops the tensor, these reads may still be queued. Return
// records an event on each of these streams and adds the block to the idle
// ones.
//
// Choose first looks for an idle block whose events are all reached. If there
// is none, and there are fewer than kBlocksAhead blocks of the size, it makes a
// new block. If not, it takes an idle block and makes the GPU's own stream wait
// for the block's events; the calling thread does not wait. If no idle block
// has an event for each use, but unknown streams used one, the calling thread
// waits until the GPU is idle. The last resort is a new block.
//
// A stream that is captured into a CUDA graph cannot record an event. Its block
// stays idle without an event. AskUses tries again each time it looks at the
// block.

namespace forebay::client::device {
namespace {

// The number of blocks of one size that are made before the GPU's own stream
// waits for a stream that still uses one. Frameworks queue work a few batches
// ahead.
constexpr std::size_t kBlocksAhead = 4;
constexpr std::uint64_t kStep = 512;  // block sizes are multiples of this
constexpr std::uintptr_t kPerThreadStream = 2;  // CU_STREAM_PER_THREAD

}  // namespace

Status TensorPool::Open(int ordinal, std::shared_ptr<TensorPool>* out) {
  // A forked child fails here. The child must not lock the table below: a
  // thread that exists only in the parent may have held the lock during the
  // fork.
  std::shared_ptr<Gpu> gpu;
  FOREBAY_CLIENT_RETURN_IF_ERROR(Gpu::Open(ordinal, &gpu));
  struct Table {
    std::mutex mutex;
    std::map<int, std::shared_ptr<TensorPool>> pools;  // guarded by mutex
  };
  // The table is never destroyed, because a framework may drop tensors while
  // the process exits.
  static auto* const table = new Table;
  const std::lock_guard lock(table->mutex);
  std::shared_ptr<TensorPool>& pool = table->pools[ordinal];
  // The memory of a lost GPU cannot be used again, so a new pool replaces the
  // old one. Tensors keep the old pool alive.
  if (pool == nullptr || !pool->gpu_->Poll().ok()) {
    pool = std::make_shared<TensorPool>(std::move(gpu));
  } else {
    const std::lock_guard pool_lock(pool->mutex_);
    ++pool->users_;
  }
  *out = pool;
  return Status();
}

TensorPool::~TensorPool() {
  if (gpu_->CheckProcess().ok()) FreeIdle();
}

void TensorPool::Close() {
  if (!gpu_->CheckProcess().ok()) return;
  {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
  }
  FreeIdle();
}

Status TensorPool::Make(std::uint64_t bytes, Block* out) {
  Block block;
  block.bytes = bytes;
  FOREBAY_CLIENT_RETURN_IF_ERROR(gpu_->MakeEvent(&block.ready));
  Status made = gpu_->Allocate(bytes, &block.memory);
  if (made.code == FOREBAY_RESOURCE_EXHAUSTED) {
    FreeIdle();
    made = gpu_->Allocate(bytes, &block.memory);
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(made);
  *out = std::move(block);
  const std::lock_guard lock(mutex_);
  ++sizes_[bytes].count;
  return Status();
}

void TensorPool::AskUses(Block* block) {
  for (Use& use : block->uses) {
    if (block->unknown_use) return;
    if (use.done != nullptr) continue;
    bool captures = false;
    Status asked = gpu_->IsCapturing(use.stream, &captures);
    // An event recorded now would belong to the graph, so it is recorded later.
    if (captures) continue;
    std::unique_ptr<Event> done;
    if (asked.ok()) asked = gpu_->MakeEvent(&done);
    if (asked.ok()) asked = done->Record(use.stream);
    if (asked.ok()) {
      use.done = std::move(done);
    } else {
      block->unknown_use = true;
    }
  }
}

template <typename Test>
bool TensorPool::All(Block& block, Test test) {
  AskUses(&block);
  return !block.unknown_use &&
         std::all_of(block.uses.begin(), block.uses.end(), [&](const Use& use) {
           return use.done != nullptr && test(*use.done);
         });
}

bool TensorPool::IsDone(Block& block) {
  return All(block, [](const Event& done) {
    bool reached = false;
    return done.IsReached(&reached).ok() && reached;
  });
}

Status TensorPool::Take(std::uint64_t bytes,
                        std::unique_ptr<TensorMemory>* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(gpu_->CheckProcess());
  const std::uint64_t rounded = (bytes + kStep - 1) / kStep * kStep;
  if (rounded < bytes)
    return Status(FOREBAY_RESOURCE_EXHAUSTED, "no GPU has so much memory");
  std::deque<Block> idle;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    Blocks& blocks = sizes_[rounded];
    idle.swap(blocks.idle);
    count = blocks.count;
  }
  Block block;
  const Status status = Choose(rounded, count, &idle, &block);
  {
    const std::lock_guard lock(mutex_);
    Blocks& blocks = sizes_[rounded];
    blocks.idle.insert(blocks.idle.begin(),
                       std::make_move_iterator(idle.begin()),
                       std::make_move_iterator(idle.end()));
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(status);
  out->reset(new TensorMemory(shared_from_this(), std::move(block)));
  return Status();
}

Status TensorPool::Choose(std::uint64_t bytes, std::size_t count,
                          std::deque<Block>* idle, Block* out) {
  const auto find = [idle](auto test) {
    return std::find_if(idle->begin(), idle->end(), test);
  };
  auto chosen = find([this](Block& block) { return IsDone(block); });
  if (chosen == idle->end() && (count < kBlocksAhead || idle->empty())) {
    Status made = Make(bytes, out);
    if (made.code != FOREBAY_RESOURCE_EXHAUSTED || idle->empty()) return made;
  }
  if (chosen == idle->end()) {
    chosen = find([this](Block& block) {
      return All(block, [this](const Event& done) {
        return done.HoldBack(gpu_->own_stream()).ok();
      });
    });
  }
  if (chosen == idle->end()) {
    chosen = find([](const Block& block) { return block.unknown_use; });
    // If there is no such block, all blocks' streams are being captured at the
    // moment.
    if (chosen == idle->end() || !gpu_->AwaitAll().ok())
      return Make(bytes, out);
    for (Block& block : *idle) Forget(&block);
  }
  Forget(&*chosen);
  *out = std::move(*chosen);
  idle->erase(chosen);
  return Status();
}

void TensorPool::Forget(Block* block) {
  block->uses.clear();
  block->unknown_use = false;
}

bool TensorPool::AwaitOwnStream() {
  std::unique_ptr<Event> done;
  return gpu_->MakeEvent(&done).ok() && done->Record(gpu_->own_stream()).ok() &&
         done->Await().ok();
}

void TensorPool::FreeIdle() {
  std::deque<Block> idle;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [bytes, blocks] : sizes_) {
      blocks.count -= blocks.idle.size();
      std::move(blocks.idle.begin(), blocks.idle.end(),
                std::back_inserter(idle));
      blocks.idle.clear();
    }
  }
  if (idle.empty()) return;
  const bool made = AwaitOwnStream();
  std::erase_if(idle, [&](Block& block) {
    return made &&
           All(block, [](const Event& done) { return done.Await().ok(); });
  });
  if (std::any_of(idle.begin(), idle.end(),
                  [](const Block& block) { return block.unknown_use; }) &&
      gpu_->AwaitAll().ok()) {
    idle.clear();
  }
  const std::lock_guard lock(mutex_);
  for (Block& block : idle) {
    Blocks& blocks = sizes_[block.bytes];
    ++blocks.count;
    blocks.idle.push_back(std::move(block));
  }
}

void TensorPool::Return(Block block) {
  AskUses(&block);
  const std::lock_guard lock(mutex_);
  sizes_[block.bytes].idle.push_back(std::move(block));
}

TensorMemory::~TensorMemory() {
  // A forked child must not return the block: the pool may be locked there for
  // ever.
  if (gpu().CheckProcess().ok()) pool_->Return(std::move(block_));
}

Status TensorMemory::HandOver(void* stream) {
  // A forked child fails here, before it changes anything.
  bool captures = false;
  FOREBAY_CLIENT_RETURN_IF_ERROR(gpu().IsCapturing(stream, &captures));
  if (captures)
    return Status(FOREBAY_FAILED_PRECONDITION,
                  "a CUDA graph captures the stream: take tensors outside of "
                  "the capture");
  FOREBAY_CLIENT_RETURN_IF_ERROR(block_.ready->HoldBack(stream));
  // CU_STREAM_PER_THREAD means another stream in each thread, and another
  // thread may drop the tensor.
  if (stream == reinterpret_cast<void*>(kPerThreadStream))
    return HandOverUnordered();
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(block_.uses.begin(), block_.uses.end(),
                   [&](const auto& use) { return use.stream == stream; });
  if (known == block_.uses.end()) block_.uses.push_back({stream, nullptr});
  return Status();
}

Status TensorMemory::HandOverUnordered() {
  FOREBAY_CLIENT_RETURN_IF_ERROR(gpu().CheckProcess());
  const std::lock_guard lock(mutex_);
  block_.unknown_use = true;
  return Status();
}

Status TensorMemory::HoldBackOwnStream() {
  FOREBAY_CLIENT_RETURN_IF_ERROR(gpu().CheckProcess());
  std::vector<void*> streams;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& use : block_.uses) streams.push_back(use.stream);
  }
  std::unique_ptr<Event> queued;
  FOREBAY_CLIENT_RETURN_IF_ERROR(gpu().MakeEvent(&queued));
  for (void* const stream : streams) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(queued->Record(stream));
    FOREBAY_CLIENT_RETURN_IF_ERROR(queued->HoldBack(gpu().own_stream()));
  }
  return Status();
}

}  // namespace forebay::client::device
