// The client's memory for tensors, on a GPU or on the fake.
#include "client/device/tensor_pool.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "client/device/gpu.h"
#include "tests/device/capture.h"
#include "tests/device/device_fixture.h"
#include "tests/device/scripted_gpus.h"
#include "tests/device/trainer_fixture.h"

namespace forebay::device_tests {
namespace {

using client::Status;
using client::device::TensorMemory;
using client::device::TensorPool;

constexpr std::size_t kBytes = 1000;
constexpr int kBlocksAhead = 4;
// Streams dawdle, each in its own way.
constexpr char kDelays[] = R"({"seed": 7, "delay_micros": 3000})";

std::shared_ptr<TensorPool> OpenPool() {
  setenv("FOREBAY_CUDA_PLUGIN", "cuda/libforebay_cuda.so", /*overwrite=*/1);
  std::shared_ptr<TensorPool> pool;
  const Status status = TensorPool::Open(0, &pool);
  EXPECT_TRUE(status.ok()) << status.message;
  return pool;
}

// A tensor of these bytes.
std::unique_ptr<TensorMemory> Make(TensorPool& pool,
                                   const std::vector<unsigned char>& bytes) {
  std::unique_ptr<TensorMemory> memory;
  Status status = pool.Take(bytes.size(), &memory);
  if (status.ok()) {
    status = pool.gpu().Upload(pool.gpu().own_stream(), bytes.data(),
                               memory->address(), bytes.size());
  }
  if (status.ok()) status = memory->Finish();
  EXPECT_TRUE(status.ok()) << status.message;
  return memory;
}

// A stream that stands still until it is told to go on.
class Halted {
 public:
  explicit Halted(const Trainer& trainer) { trainer.QueueOnHost(&wait_); }
  ~Halted() { GoOn(); }
  Halted(const Halted&) = delete;
  Halted& operator=(const Halted&) = delete;

  void GoOn() {
    if (!gone_) go_.set_value();
    gone_ = true;
  }

 private:
  bool gone_ = false;
  std::promise<void> go_;
  std::function<void()> wait_ = [went = go_.get_future().share()] {
    went.wait();
  };
};

TEST(TensorPoolTest, AStreamFindsTheTensorMade) {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    for (unsigned first = 0; first < 20; ++first) {
      std::vector<unsigned char> bytes = Numbers(kBytes, first);
      const auto memory = Make(*pool, bytes);
      const std::vector<unsigned char> sent = bytes;
      bytes.assign(kBytes, 0xFF);  // the host's is free at once
      ASSERT_TRUE(memory->HandOver(trainer.stream()).ok());
      EXPECT_EQ(trainer.Read(memory->address(), kBytes), sent);
    }
    EXPECT_TRUE(pool->gpu().Poll().ok());
  });
}

TEST(TensorPoolTest, MemoryIsUsedAgainOnlyAfterTheStreamThatHadIt) {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    std::vector<std::uint64_t> copies;
    Halted halted(trainer);
    std::vector<std::unique_ptr<TensorMemory>> last;
    for (unsigned first = 0; first < 2 * kBlocksAhead; ++first) {
      auto memory = Make(*pool, Numbers(kBytes, first));
      // The first ones' memory, which the halted stream still has to read.
      if (first >= kBlocksAhead) {
        last.push_back(std::move(memory));
        continue;
      }
      ASSERT_TRUE(memory->HandOver(trainer.stream()).ok());
      copies.push_back(trainer.Allocate(kBytes));
      FOREBAY_ASSERT_CUDA(Api().copy_on_device(copies.back(), memory->address(),
                                               kBytes, trainer.stream()));
    }
    halted.GoOn();
    for (unsigned first = 0; first < kBlocksAhead; ++first)
      EXPECT_EQ(trainer.Read(copies[first], kBytes), Numbers(kBytes, first));
    for (unsigned first = 0; first < kBlocksAhead; ++first) {
      ASSERT_TRUE(last[first]->HandOver(trainer.stream()).ok());
      EXPECT_EQ(trainer.Read(last[first]->address(), kBytes),
                Numbers(kBytes, kBlocksAhead + first));
    }
  });
}

TEST(TensorPoolTest, MemoryOfUnknownStreamsIsUsedAgainOnlyAtRest) {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    std::vector<std::uint64_t> copies;
    Halted halted(trainer);
    for (unsigned first = 0; first < kBlocksAhead; ++first) {
      const auto memory = Make(*pool, Numbers(kBytes, first));
      ASSERT_TRUE(memory->HandOver(trainer.stream()).ok());
      ASSERT_TRUE(memory->HandOverUnordered().ok());
      copies.push_back(trainer.Allocate(kBytes));
      FOREBAY_ASSERT_CUDA(Api().copy_on_device(copies.back(), memory->address(),
                                               kBytes, trainer.stream()));
    }
    // It waits for the halted stream.
    auto next = std::async(std::launch::async,
                           [&] { return Make(*pool, Numbers(kBytes, 99)); });
    halted.GoOn();
    const auto memory = next.get();
    for (unsigned first = 0; first < kBlocksAhead; ++first)
      EXPECT_EQ(trainer.Read(copies[first], kBytes), Numbers(kBytes, first));
  });
}

TEST(TensorPoolTest, AProcessHasOnePoolAndGivesItsMemoryBack) {
  WithGpus("{}", [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    EXPECT_EQ(OpenPool(), pool);
    const std::size_t available = trainer.FreeMemory();
    const auto held = Make(*pool, Numbers(10 << 20));
    Make(*pool, Numbers(8 << 20)).reset();
    EXPECT_LE(trainer.FreeMemory(), available - (18 << 20));
    pool->Close();
    EXPECT_LE(trainer.FreeMemory(), available - (18 << 20));
    pool->Close();
    EXPECT_GT(trainer.FreeMemory(), available - (18 << 20));
    // A tensor outlives the pool's users.
    ASSERT_TRUE(held->HandOver(trainer.stream()).ok());
    EXPECT_EQ(trainer.Read(held->address(), 10 << 20), Numbers(10 << 20));
  });
}

TEST(TensorPoolTest, AStreamThatIsCapturedKeepsWhatItHad) {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    std::vector<std::unique_ptr<TensorMemory>> taken;
    for (unsigned first = 0; first < kBlocksAhead; ++first) {
      taken.push_back(Make(*pool, Numbers(kBytes, first)));
      ASSERT_TRUE(taken.back()->HandOver(trainer.stream()).ok());
    }
    trainer.Finish();
    BeginCapture(trainer.stream());
    taken.clear();
    std::thread([&] {
      Make(*pool, Numbers(kBytes, 9));
      OpenPool()->Close();
    }).join();
    EndCapture(trainer.stream());
    EXPECT_TRUE(pool->gpu().Poll().ok());
  });
}

TEST(TensorPoolTest, ACapturedStreamIsRefusedAndNotSpoilt) {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    auto memory = Make(*pool, Numbers(kBytes));
    auto dropped = Make(*pool, Numbers(kBytes));
    ASSERT_TRUE(dropped->HandOver(trainer.stream()).ok());
    trainer.Finish();
    BeginCapture(trainer.stream());
    EXPECT_EQ(memory->HandOver(trainer.stream()).code,
              FOREBAY_FAILED_PRECONDITION);
    dropped.reset();
    // Other threads' work goes on meanwhile.
    std::thread([&] { Make(*pool, Numbers(kBytes, 9)); }).join();
    EndCapture(trainer.stream());
    ASSERT_TRUE(memory->HandOver(trainer.stream()).ok());
    EXPECT_EQ(trainer.Read(memory->address(), kBytes), Numbers(kBytes));
  });
}

}  // namespace
}  // namespace forebay::device_tests
