#include "server/device/copy_queue.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/fake_gpu.h"
#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::device {
namespace {

using tests::HasCode;
using tests::IsOk;

// A GPU that records its copies. The test can make its Wait block.
class GatedGpu final : public cuda::Gpu {
 public:
  absl::StatusOr<std::unique_ptr<cuda::GpuMemory>> Allocate(
      std::uint64_t bytes) override {
    return gpu_.Allocate(bytes);
  }
  absl::Status Register(void* data, std::uint64_t bytes) override {
    return gpu_.Register(data, bytes);
  }
  absl::Status Unregister(void* data) override { return gpu_.Unregister(data); }
  absl::StatusOr<std::uint64_t> StartCopy(const cuda::GpuMemory& to,
                                          std::uint64_t offset,
                                          const void* from,
                                          std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    started_.emplace_back(&to, bytes);
    return gpu_.StartCopy(to, offset, from, bytes);
  }
  absl::Status Wait(std::uint64_t copy) override {
    {
      std::unique_lock lock(mutex_);
      waiting_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
      waiting_ = false;
    }
    return gpu_.Wait(copy);
  }
  absl::Status Read(const cuda::GpuMemory& from, std::uint64_t offset, void* to,
                    std::uint64_t bytes) override {
    return gpu_.Read(from, offset, to, bytes);
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void AwaitWait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_; });
  }
  cuda::FakeGpu& fake() { return gpu_; }
  // Returns the copies in their order, each with its memory and number of
  // bytes.
  std::vector<std::pair<const cuda::GpuMemory*, std::uint64_t>> started() {
    const std::lock_guard lock(mutex_);
    return started_;
  }

 private:
  cuda::FakeGpu gpu_{std::uint64_t{1} << 40};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  bool waiting_ = false;
  std::vector<std::pair<const cuda::GpuMemory*, std::uint64_t>> started_;
};

class CopyQueueTest {
 protected:
  struct Batch {
    std::shared_ptr<const cuda::GpuMemory> to;
    std::shared_ptr<StagingMemory> from;
  };

  Batch MakeBatch(std::uint64_t bytes) {
    auto to = gpu_->Allocate(bytes);
    auto from = StagingMemory::Create(gpu_, /*numa_node=*/-1, bytes);
    CHECK((to.ok() && from.ok()));
    for (std::uint64_t i = 0; i < bytes; ++i)
      (*from)->data()[i] = static_cast<std::uint8_t>(random_());
    return {std::move(*to), *from};
  }
  // Starts a copy. The future gets the status with which the copy ends.
  std::future<absl::Status> Start(const Batch& batch, std::uint64_t bytes,
                                  schedule::Flow flow = 1) {
    auto ended = std::make_shared<std::promise<absl::Status>>();
    const absl::Status started = queue_->Start(
        {.payers = {flow},
         .to = batch.to,
         .from = batch.from,
         .bytes = bytes,
         .done = [ended](const absl::Status& s) { ended->set_value(s); }});
    if (!started.ok()) ended->set_value(started);
    return ended->get_future();
  }
  bool Equal(const Batch& batch, std::uint64_t bytes) {
    std::vector<std::uint8_t> read(bytes);
    CHECK_THAT(gpu_->Read(*batch.to, 0, read.data(), bytes), IsOk());
    return std::memcmp(read.data(), batch.from->data(), bytes) == 0;
  }

  std::mt19937 random_{7};
  // All cases share the clock, because a queue's thread that was not joined
  // outlives its case.
  static inline base::FakeClock clock;
  std::shared_ptr<GatedGpu> gpu_ = std::make_shared<GatedGpu>();
  std::unique_ptr<CopyQueue> queue_ = std::make_unique<CopyQueue>(gpu_, &clock);
};

TEST_CASE_METHOD(CopyQueueTest,
                 "The copy queue copies all bytes whatever the pieces",
                 "[device][copy_queue]") {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, CopyQueue::kPieceBytes, CopyQueue::kPieceBytes + 1,
        3 * CopyQueue::kPieceBytes - 1}) {
    const Batch batch = MakeBatch(bytes);
    CHECK_THAT(Start(batch, bytes).get(), IsOk());
    CAPTURE(bytes);
    CHECK(Equal(batch, bytes));
  }
  CHECK(queue_->counters().copies == 4);
  CHECK(queue_->counters().bytes == 5 * CopyQueue::kPieceBytes + 1);
  CHECK(queue_->counters().waiting_bytes == 0);
}

TEST_CASE_METHOD(
    CopyQueueTest,
    "The copy queue lets a small copy pass a large one of another job",
    "[device][copy_queue]") {
  const std::uint64_t bytes = 8 * CopyQueue::kPieceBytes;
  const Batch large = MakeBatch(bytes);
  const Batch small = MakeBatch(1);
  gpu_->Close();
  auto of_large = Start(large, bytes, 1);
  gpu_->AwaitWait();
  auto of_small = Start(small, 1, 2);
  gpu_->Open();
  CHECK((of_large.get().ok() && of_small.get().ok()));
  const auto started = gpu_->started();
  std::size_t at = 0;
  while (started[at].first != small.to.get()) ++at;
  UNSCOPED_INFO("behind those in flight");
  CHECK(at <= 3);
}

TEST_CASE_METHOD(CopyQueueTest,
                 "A copy that fails harms no other copy in the queue",
                 "[device][copy_queue]") {
  const Batch batch = MakeBatch(100);
  gpu_->fake().Fail(absl::InternalError("the bus"));
  CHECK_THAT(Start(batch, 100).get(), HasCode(absl::StatusCode::kInternal));
  CHECK_THAT(queue_->health(), IsOk());
  gpu_->fake().Fail(absl::OkStatus());
  CHECK_THAT(Start(batch, 100).get(), IsOk());
}

TEST_CASE_METHOD(CopyQueueTest,
                 "A lost GPU fails all copies that wait and all that come",
                 "[device][copy_queue]") {
  const Batch batch = MakeBatch(100);
  gpu_->Close();
  std::vector<std::future<absl::Status>> copies;
  for (int i = 0; i < 5; ++i) copies.push_back(Start(batch, 100));
  gpu_->AwaitWait();
  gpu_->fake().Fail(absl::DataLossError("an uncorrectable error"));
  gpu_->Open();
  for (auto& copy : copies)
    CHECK_THAT(copy.get(), HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(queue_->health(), HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(Start(batch, 100).get(), HasCode(absl::StatusCode::kDataLoss));
  CHECK(queue_->counters().waiting_bytes == 0);
  gpu_->fake().Fail(absl::OkStatus());
}

TEST_CASE_METHOD(CopyQueueTest,
                 "The copy queue gives up a copy that does not end",
                 "[device][copy_queue]") {
  const Batch batch = MakeBatch(100);
  clock.Advance(1);
  gpu_->Close();
  auto copy = Start(batch, 100);
  auto next = Start(batch, 100);
  gpu_->AwaitWait();
  queue_->Expire(1000);
  UNSCOPED_INFO("it has just begun");
  CHECK_THAT(queue_->health(), IsOk());
  clock.Advance(1000);
  queue_->Expire(1000);
  queue_->Expire(1000);
  UNSCOPED_INFO("this process may have stood still");
  CHECK_THAT(queue_->health(), IsOk());
  queue_->Expire(1000);
  CHECK_THAT(copy.get(), HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(next.get(), HasCode(absl::StatusCode::kDataLoss));
  UNSCOPED_INFO("the GPU may still read it");
  CHECK(batch.from.use_count() > 1);
  queue_.reset();  // does not wait for the copy
  gpu_->Open();
  while (batch.from.use_count() > 1) std::this_thread::yield();
}

TEST_CASE_METHOD(CopyQueueTest,
                 "The copy queue's destruction fails the copies that wait",
                 "[device][copy_queue]") {
  const Batch batch = MakeBatch(100);
  gpu_->Close();
  std::vector<std::future<absl::Status>> copies;
  for (int i = 0; i < 5; ++i) copies.push_back(Start(batch, 100));
  gpu_->AwaitWait();
  std::jthread opener([this] { gpu_->Open(); });
  queue_.reset();
  opener.join();
  for (auto& copy : copies) {
    const absl::Status status = copy.get();
    CAPTURE(status);
    CHECK((status.ok() || absl::IsCancelled(status)));
  }
}

TEST_CASE_METHOD(
    CopyQueueTest,
    "The copy queue's destruction does not wait forever for a copy that hangs",
    "[device][copy_queue]") {
  queue_ =
      std::make_unique<CopyQueue>(gpu_, &clock, std::chrono::nanoseconds(0));
  const Batch batch = MakeBatch(100);
  clock.Advance(1);
  gpu_->Close();
  auto copy = Start(batch, 100);
  gpu_->AwaitWait();
  queue_.reset();
  CHECK_THAT(copy.get(), HasCode(absl::StatusCode::kCancelled));
  gpu_->Open();
  while (batch.from.use_count() > 1) std::this_thread::yield();
}

TEST_CASE_METHOD(
    CopyQueueTest,
    "The copy queue fails copies once another call has found the GPU lost",
    "[device][copy_queue]") {
  queue_->Lose(absl::DataLossError("an uncorrectable error"));
  const Batch batch = MakeBatch(100);
  CHECK_THAT(Start(batch, 100).get(), HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(queue_->health(), HasCode(absl::StatusCode::kDataLoss));
}

// The end of a copy may destroy the last user of a GPU.
TEST_CASE_METHOD(CopyQueueTest,
                 "The copy queue may be destroyed by the end of a copy",
                 "[device][copy_queue]") {
  const Batch batch = MakeBatch(100);
  std::promise<void> ended;
  CopyQueue* const queue = queue_.release();
  REQUIRE_THAT(queue->Start({.payers = {1},
                             .to = batch.to,
                             .from = batch.from,
                             .bytes = 100,
                             .done =
                                 [&](const absl::Status&) {
                                   delete queue;
                                   ended.set_value();
                                 }}),
               IsOk());
  ended.get_future().get();
}

}  // namespace
}  // namespace forebay::device
