#include "client/device/tensor_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/matchers.h"
#include "tests/unit/client/device/fake_plugin.h"

namespace forebay::client::device {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::IsEmpty;
using tests::IsOk;
using tests::Not;

void* StreamOf(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);
}

class TensorPoolTest {
 protected:
  TensorPoolTest() {
    Told() = PluginScript();
    std::shared_ptr<Gpu> gpu;
    REQUIRE_THAT(Gpu::Open(kFakePlugin, 0, &gpu), IsOk());
    pool_ = std::make_shared<TensorPool>(std::move(gpu));
  }

  std::unique_ptr<TensorMemory> Take(std::uint64_t bytes) {
    std::unique_ptr<TensorMemory> memory;
    const Status status = pool_->Take(bytes, &memory);
    CAPTURE(status.message);
    CHECK_THAT(status, IsOk());
    Told().calls.clear();
    return memory;
  }
  // Takes so many blocks of one size that the pool would rather wait for one
  // than allocate another.
  std::vector<std::unique_ptr<TensorMemory>> TakeMany() {
    std::vector<std::unique_ptr<TensorMemory>> taken;
    for (int i = 0; i < 4; ++i) taken.push_back(Take(512));
    return taken;
  }

  std::shared_ptr<TensorPool> pool_;
};

TEST_CASE_METHOD(TensorPoolTest, "A tensor pool gives out again what came back",
                 "[device][tensor_pool]") {
  auto memory = Take(1000);
  const std::uint64_t address = memory->address();
  CHECK(Told().memory[address] == 1024);
  CHECK(Take(1000)->address() != address);
  memory.reset();
  memory = Take(513);
  CHECK(Take(512)->address() != address);
  memory.reset();
  CHECK(Told().memory.size() == 3);
  CHECK_THAT(Told().calls, IsEmpty());
}

TEST_CASE_METHOD(
    TensorPoolTest,
    "A stream waits until the tensor is made that a tensor pool hands over",
    "[device][tensor_pool]") {
  const auto memory = Take(100);
  CHECK_THAT(memory->Finish(), IsOk());
  CHECK_THAT(memory->HandOver(StreamOf(7)), IsOk());
  CHECK_THAT(Told().calls, ElementsAre("record on own stream", "capturing",
                                       "hold back stream 7"));
}

TEST_CASE_METHOD(TensorPoolTest,
                 "A tensor pool refuses a stream that is captured",
                 "[device][tensor_pool]") {
  auto memory = Take(100);
  Told().captures = 1;
  CHECK(memory->HandOver(StreamOf(7)).code == FOREBAY_FAILED_PRECONDITION);
  Told().calls.clear();
  memory.reset();
  CHECK_THAT(Told().calls, IsEmpty());
}

TEST_CASE_METHOD(
    TensorPoolTest,
    "A tensor pool asks each stream that had a tensor when it is done",
    "[device][tensor_pool]") {
  auto memory = Take(100);
  for (const int stream : {7, 8, 7}) {
    CHECK_THAT(memory->HandOver(StreamOf(static_cast<std::uintptr_t>(stream))),
               IsOk());
  }
  Told().calls.clear();
  memory.reset();
  CHECK_THAT(Told().calls, ElementsAre("capturing", "record on stream 7",
                                       "capturing", "record on stream 8"));
}

TEST_CASE_METHOD(TensorPoolTest,
                 "A tensor pool makes a few blocks before its own stream waits",
                 "[device][tensor_pool]") {
  Told().reached = false;
  std::vector<std::uint64_t> addresses;
  for (int i = 0; i < 4; ++i) {
    const auto memory = Take(100);
    CHECK_THAT(memory->HandOver(StreamOf(7)), IsOk());
    addresses.push_back(memory->address());
  }
  CHECK(Told().memory.size() == 4);
  std::unique_ptr<TensorMemory> memory;
  Told().calls.clear();
  REQUIRE_THAT(pool_->Take(100, &memory), IsOk());
  // The pool hands out the block that was returned first.
  CHECK(memory->address() == addresses[0]);
  CHECK_THAT(Told().calls, ElementsAre("hold back own stream"));
}

TEST_CASE_METHOD(TensorPoolTest,
                 "A block that is done comes first in a tensor pool",
                 "[device][tensor_pool]") {
  auto others = TakeMany();
  auto memory = Take(512);
  CHECK_THAT(others[0]->HandOver(StreamOf(7)), IsOk());
  Told().reached = false;
  others[0].reset();
  const std::uint64_t address = memory->address();
  memory.reset();  // no stream has used the block
  CHECK(Take(512)->address() == address);
}

TEST_CASE_METHOD(
    TensorPoolTest,
    "A tensor pool waits for unknown streams only if memory is short",
    "[device][tensor_pool]") {
  auto taken = TakeMany();
  const std::uint64_t address = taken[0]->address();
  CHECK_THAT(taken[0]->HandOverUnordered(), IsOk());
  taken[0].reset();
  std::unique_ptr<TensorMemory> memory;
  REQUIRE_THAT(pool_->Take(512, &memory), IsOk());
  CHECK_THAT(Told().calls, Contains("await all"));
  CHECK(memory->address() == address);
  // The GPU was idle after `await all`, so the block's only user now is the
  // known stream 7.
  CHECK_THAT(memory->HandOver(StreamOf(7)), IsOk());
  memory.reset();
  Told().calls.clear();
  REQUIRE_THAT(pool_->Take(512, &memory), IsOk());
  CHECK_THAT(Told().calls, Not(Contains("await all")));
}

TEST_CASE_METHOD(TensorPoolTest,
                 "The per-thread stream is an unknown one to a tensor pool",
                 "[device][tensor_pool]") {
  auto taken = TakeMany();
  CHECK_THAT(taken[0]->HandOver(StreamOf(2)), IsOk());
  CHECK_THAT(Told().calls, ElementsAre("capturing", "hold back stream 2"));
  Told().calls.clear();
  taken[0].reset();
  UNSCOPED_INFO("which thread's?");
  CHECK_THAT(Told().calls, IsEmpty());
  std::unique_ptr<TensorMemory> memory;
  REQUIRE_THAT(pool_->Take(512, &memory), IsOk());
  CHECK_THAT(Told().calls, ElementsAre("await all"));
}

TEST_CASE_METHOD(
    TensorPoolTest,
    "A stream that takes no event is an unknown one to a tensor pool",
    "[device][tensor_pool]") {
  auto taken = TakeMany();
  CHECK_THAT(taken[0]->HandOver(StreamOf(7)), IsOk());
  Told().result = cuda::PluginResult::kFailed;
  taken[0].reset();
  Told().result = cuda::PluginResult::kOk;
  Told().calls.clear();
  std::unique_ptr<TensorMemory> memory;
  REQUIRE_THAT(pool_->Take(512, &memory), IsOk());
  CHECK_THAT(Told().calls, ElementsAre("await all"));
}

TEST_CASE_METHOD(
    TensorPoolTest,
    "A tensor pool asks a stream that is captured only after the capture",
    "[device][tensor_pool]") {
  auto taken = TakeMany();
  const std::uint64_t address = taken[0]->address();
  CHECK_THAT(taken[0]->HandOver(StreamOf(7)), IsOk());
  Told().captures = 1;
  Told().calls.clear();
  taken[0].reset();
  auto other = Take(512);
  UNSCOPED_INFO("and nobody awaits all");
  CHECK(other->address() != address);
  CHECK_THAT(Told().calls, IsEmpty());
  other.reset();
  pool_->Close();
  CHECK(Told().memory.count(address) == 1);
  Told().captures = 0;
  std::unique_ptr<TensorMemory> memory;
  REQUIRE_THAT(pool_->Take(512, &memory), IsOk());
  CHECK(memory->address() == address);
  CHECK_THAT(Told().calls, Contains("record on stream 7"));
}

TEST_CASE_METHOD(
    TensorPoolTest,
    "A single wait frees all memory of unknown streams in a tensor pool",
    "[device][tensor_pool]") {
  auto taken = TakeMany();
  for (auto& memory : taken) {
    CHECK_THAT(memory->HandOverUnordered(), IsOk());
    memory.reset();
  }
  Told().calls.clear();
  for (auto& memory : taken) CHECK_THAT(pool_->Take(512, &memory), IsOk());
  CHECK_THAT(Told().calls, ElementsAre("await all"));
}

TEST_CASE_METHOD(
    TensorPoolTest,
    "A tensor pool's own stream waits for those that have a tensor",
    "[device][tensor_pool]") {
  const auto memory = Take(512);
  CHECK_THAT(memory->HandOver(StreamOf(7)), IsOk());
  Told().calls.clear();
  CHECK_THAT(memory->HoldBackOwnStream(), IsOk());
  CHECK_THAT(Told().calls,
             ElementsAre("record on stream 7", "hold back own stream"));
}

TEST_CASE_METHOD(TensorPoolTest,
                 "A GPU that cannot rest costs a tensor pool more memory",
                 "[device][tensor_pool]") {
  auto taken = TakeMany();
  const std::uint64_t address = taken[0]->address();
  CHECK_THAT(taken[0]->HandOverUnordered(), IsOk());
  taken[0].reset();
  Told().rests = false;
  const auto memory = Take(512);
  CHECK(memory->address() != address);
  CHECK(Told().memory.size() == 5);
}

TEST_CASE_METHOD(TensorPoolTest,
                 "A tensor pool frees memory of other sizes if memory is short",
                 "[device][tensor_pool]") {
  Told().room = 2048;
  Take(2048).reset();
  const auto memory = Take(512);
  CHECK(Told().memory.size() == 1);
  std::unique_ptr<TensorMemory> more;
  CHECK(pool_->Take(2048, &more).code == FOREBAY_RESOURCE_EXHAUSTED);
  CHECK(pool_->Take(UINT64_MAX, &more).code == FOREBAY_RESOURCE_EXHAUSTED);
}

TEST_CASE_METHOD(
    TensorPoolTest,
    "A tensor pool waits for a stream that still has memory if memory is short",
    "[device][tensor_pool]") {
  Told().room = 512;
  auto memory = Take(512);
  CHECK_THAT(memory->HandOver(StreamOf(7)), IsOk());
  memory.reset();
  Told().reached = false;
  REQUIRE_THAT(pool_->Take(512, &memory), IsOk());
  CHECK_THAT(Told().calls, Contains("hold back own stream"));
}

TEST_CASE_METHOD(TensorPoolTest,
                 "A tensor pool frees nothing before the GPU rests",
                 "[device][tensor_pool]") {
  auto memory = Take(100);
  const auto held = Take(100);
  CHECK_THAT(memory->HandOverUnordered(), IsOk());
  memory.reset();
  Told().rests = false;
  pool_->Close();
  CHECK(Told().memory.size() == 2);
}

TEST_CASE_METHOD(TensorPoolTest,
                 "A forked child leaves the GPU of a tensor pool alone",
                 "[device][tensor_pool]") {
  auto memory = Take(100);
  const tests::ChildEnd child = tests::RunInChild([&] {
    std::unique_ptr<TensorMemory> more;
    CHECK(pool_->Take(100, &more).code == FOREBAY_FORKED);
    CHECK(memory->HandOver(StreamOf(7)).code == FOREBAY_FORKED);
    CHECK(memory->HandOverUnordered().code == FOREBAY_FORKED);
    memory.reset();
    pool_->Close();
    pool_.reset();
    CHECK_THAT(Told().calls, IsEmpty());
  });
  INFO(child.err);
  CHECK(child.status == 0);
}

}  // namespace
}  // namespace forebay::client::device
