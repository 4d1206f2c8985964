// Tests of the client's memory for tensors, on a GPU or on the fake driver.
#include "client/device/tensor_pool.h"

#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "client/device/gpu.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/device/capture.h"
#include "tests/device/device_fixture.h"
#include "tests/device/scripted_gpus.h"
#include "tests/device/trainer_fixture.h"

namespace forebay::device_tests {
namespace {

using tests::IsOk;

using client::Status;
using client::device::TensorMemory;
using client::device::TensorPool;

constexpr std::size_t kBytes = 1000;
constexpr int kBlocksAhead = 4;
// Streams pause before each operation, for random times up to 3 ms.
constexpr char kDelays[] = R"({"seed": 7, "delay_micros": 3000})";

std::shared_ptr<TensorPool> OpenPool() {
  setenv("FOREBAY_CUDA_PLUGIN", "cuda/libforebay_cuda.so", /*overwrite=*/1);
  std::shared_ptr<TensorPool> pool;
  const Status status = TensorPool::Open(0, &pool);
  CAPTURE(status.message);
  CHECK_THAT(status, IsOk());
  return pool;
}

// Makes a tensor of these bytes. Any thread may call it.
Status TryToMake(TensorPool& pool, const std::vector<unsigned char>& bytes,
                 std::unique_ptr<TensorMemory>* memory) {
  Status status = pool.Take(bytes.size(), memory);
  if (status.ok()) {
    status = pool.gpu().Upload(pool.gpu().own_stream(), bytes.data(),
                               (*memory)->address(), bytes.size());
  }
  if (status.ok()) status = (*memory)->Finish();
  return status;
}

// Returns a tensor of these bytes.
std::unique_ptr<TensorMemory> Make(TensorPool& pool,
                                   const std::vector<unsigned char>& bytes) {
  std::unique_ptr<TensorMemory> memory;
  const Status status = TryToMake(pool, bytes, &memory);
  CAPTURE(status.message);
  CHECK_THAT(status, IsOk());
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

TEST_CASE("A stream finds the pool's tensor made when it gets it",
          "[device][tensor_pool]") {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    for (unsigned first = 0; first < 20; ++first) {
      std::vector<unsigned char> bytes = Numbers(kBytes, first);
      const auto memory = Make(*pool, bytes);
      const std::vector<unsigned char> sent = bytes;
      bytes.assign(kBytes, 0xFF);  // the host's memory may be reused at once
      REQUIRE_THAT(memory->HandOver(trainer.stream()), IsOk());
      CHECK(trainer.Read(memory->address(), kBytes) == sent);
    }
    CHECK_THAT(pool->gpu().Poll(), IsOk());
  });
}

TEST_CASE("The tensor pool uses memory again only after the stream that had it",
          "[device][tensor_pool]") {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    std::vector<std::uint64_t> copies;
    Halted halted(trainer);
    std::vector<std::unique_ptr<TensorMemory>> last;
    for (unsigned first = 0; first < 2 * kBlocksAhead; ++first) {
      auto memory = Make(*pool, Numbers(kBytes, first));
      // This tensor would reuse the memory of one of the first tensors, which
      // the halted stream has not read yet.
      if (first >= kBlocksAhead) {
        last.push_back(std::move(memory));
        continue;
      }
      REQUIRE_THAT(memory->HandOver(trainer.stream()), IsOk());
      copies.push_back(trainer.Allocate(kBytes));
      FOREBAY_REQUIRE_CUDA(Api().copy_on_device(
          copies.back(), memory->address(), kBytes, trainer.stream()));
    }
    halted.GoOn();
    for (unsigned first = 0; first < kBlocksAhead; ++first)
      CHECK(trainer.Read(copies[first], kBytes) == Numbers(kBytes, first));
    for (unsigned first = 0; first < kBlocksAhead; ++first) {
      REQUIRE_THAT(last[first]->HandOver(trainer.stream()), IsOk());
      CHECK(trainer.Read(last[first]->address(), kBytes) ==
            Numbers(kBytes, kBlocksAhead + first));
    }
  });
}

TEST_CASE(
    "The tensor pool uses memory of unknown streams again only when the GPU is "
    "at rest",
    "[device][tensor_pool]") {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    std::vector<std::uint64_t> copies;
    Halted halted(trainer);
    for (unsigned first = 0; first < kBlocksAhead; ++first) {
      const auto memory = Make(*pool, Numbers(kBytes, first));
      REQUIRE_THAT(memory->HandOver(trainer.stream()), IsOk());
      REQUIRE_THAT(memory->HandOverUnordered(), IsOk());
      copies.push_back(trainer.Allocate(kBytes));
      FOREBAY_REQUIRE_CUDA(Api().copy_on_device(
          copies.back(), memory->address(), kBytes, trainer.stream()));
    }
    // The pool must wait until the halted stream goes on.
    std::unique_ptr<TensorMemory> memory;
    auto next = std::async(std::launch::async, [&] {
      return TryToMake(*pool, Numbers(kBytes, 99), &memory);
    });
    halted.GoOn();
    CHECK_THAT(next.get(), IsOk());
    for (unsigned first = 0; first < kBlocksAhead; ++first)
      CHECK(trainer.Read(copies[first], kBytes) == Numbers(kBytes, first));
  });
}

TEST_CASE(
    "A process has one tensor pool and gives its memory back at the last close",
    "[device][tensor_pool]") {
  WithGpus("{}", [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    CHECK(OpenPool() == pool);
    const std::size_t available = trainer.FreeMemory();
    const auto held = Make(*pool, Numbers(10 << 20));
    Make(*pool, Numbers(8 << 20)).reset();
    CHECK(trainer.FreeMemory() <= available - (18 << 20));
    pool->Close();
    CHECK(trainer.FreeMemory() <= available - (18 << 20));
    pool->Close();
    CHECK(trainer.FreeMemory() > available - (18 << 20));
    // A tensor may outlive the users of the pool.
    REQUIRE_THAT(held->HandOver(trainer.stream()), IsOk());
    CHECK(trainer.Read(held->address(), 10 << 20) == Numbers(10 << 20));
  });
}

TEST_CASE("A stream that is captured keeps what it had of the tensor pool",
          "[device][tensor_pool]") {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    std::vector<std::unique_ptr<TensorMemory>> taken;
    for (unsigned first = 0; first < kBlocksAhead; ++first) {
      taken.push_back(Make(*pool, Numbers(kBytes, first)));
      REQUIRE_THAT(taken.back()->HandOver(trainer.stream()), IsOk());
    }
    trainer.Finish();
    BeginCapture(trainer.stream());
    taken.clear();
    Status made, opened;
    std::thread([&] {
      std::unique_ptr<TensorMemory> memory;
      made = TryToMake(*pool, Numbers(kBytes, 9), &memory);
      std::shared_ptr<TensorPool> again;
      opened = TensorPool::Open(0, &again);
      if (opened.ok()) again->Close();
    }).join();
    EndCapture(trainer.stream());
    CHECK_THAT(made, IsOk());
    CHECK_THAT(opened, IsOk());
    CHECK_THAT(pool->gpu().Poll(), IsOk());
  });
}

TEST_CASE("The tensor pool refuses a captured stream and does not spoil it",
          "[device][tensor_pool]") {
  WithGpus(kDelays, [] {
    const Trainer trainer;
    const auto pool = OpenPool();
    auto memory = Make(*pool, Numbers(kBytes));
    auto dropped = Make(*pool, Numbers(kBytes));
    REQUIRE_THAT(dropped->HandOver(trainer.stream()), IsOk());
    trainer.Finish();
    BeginCapture(trainer.stream());
    CHECK(memory->HandOver(trainer.stream()).code ==
          FOREBAY_FAILED_PRECONDITION);
    dropped.reset();
    // Work of other threads goes on meanwhile.
    Status made;
    std::thread([&] {
      std::unique_ptr<TensorMemory> other;
      made = TryToMake(*pool, Numbers(kBytes, 9), &other);
    }).join();
    CHECK_THAT(made, IsOk());
    EndCapture(trainer.stream());
    REQUIRE_THAT(memory->HandOver(trainer.stream()), IsOk());
    CHECK(trainer.Read(memory->address(), kBytes) == Numbers(kBytes));
  });
}

}  // namespace
}  // namespace forebay::device_tests
