#include "client/device/tensor_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/client/device/fake_plugin.h"

namespace forebay::client::device {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

void* StreamOf(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);
}

class TensorPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Told() = PluginScript();
    std::shared_ptr<Gpu> gpu;
    ASSERT_TRUE(Gpu::Open(kFakePlugin, 0, &gpu).ok());
    pool_ = std::make_shared<TensorPool>(std::move(gpu));
  }

  std::unique_ptr<TensorMemory> Take(std::uint64_t bytes) {
    std::unique_ptr<TensorMemory> memory;
    const Status status = pool_->Take(bytes, &memory);
    EXPECT_TRUE(status.ok()) << status.message;
    Told().calls.clear();
    return memory;
  }
  // Takes so much memory of one size that the pool would rather wait.
  std::vector<std::unique_ptr<TensorMemory>> TakeMany() {
    std::vector<std::unique_ptr<TensorMemory>> taken;
    for (int i = 0; i < 4; ++i) taken.push_back(Take(512));
    return taken;
  }

  std::shared_ptr<TensorPool> pool_;
};

TEST_F(TensorPoolTest, GivesOutAgainWhatCameBack) {
  auto memory = Take(1000);
  const std::uint64_t address = memory->address();
  EXPECT_EQ(Told().memory[address], 1024);
  EXPECT_NE(Take(1000)->address(), address);
  memory.reset();
  memory = Take(513);
  EXPECT_NE(Take(512)->address(), address);
  memory.reset();
  EXPECT_EQ(Told().memory.size(), 3);
  EXPECT_EQ(Told().calls, std::vector<std::string>());
}

TEST_F(TensorPoolTest, AStreamWaitsUntilTheTensorIsMade) {
  const auto memory = Take(100);
  EXPECT_TRUE(memory->Finish().ok());
  EXPECT_TRUE(memory->HandOver(StreamOf(7)).ok());
  EXPECT_THAT(Told().calls, ElementsAre("record on own stream", "capturing",
                                        "hold back stream 7"));
}

TEST_F(TensorPoolTest, AStreamThatIsCapturedIsRefused) {
  auto memory = Take(100);
  Told().captures = 1;
  EXPECT_EQ(memory->HandOver(StreamOf(7)).code, FOREBAY_FAILED_PRECONDITION);
  Told().calls.clear();
  memory.reset();
  EXPECT_THAT(Told().calls, ElementsAre());
}

TEST_F(TensorPoolTest, EachStreamThatHadItIsAskedWhenItIsDone) {
  auto memory = Take(100);
  for (const int stream : {7, 8, 7}) {
    EXPECT_TRUE(
        memory->HandOver(StreamOf(static_cast<std::uintptr_t>(stream))).ok());
  }
  Told().calls.clear();
  memory.reset();
  EXPECT_THAT(Told().calls, ElementsAre("capturing", "record on stream 7",
                                        "capturing", "record on stream 8"));
}

TEST_F(TensorPoolTest, AFewBlocksAreMadeBeforeTheOwnStreamWaits) {
  Told().reached = false;
  std::vector<std::uint64_t> addresses;
  for (int i = 0; i < 4; ++i) {
    const auto memory = Take(100);
    EXPECT_TRUE(memory->HandOver(StreamOf(7)).ok());
    addresses.push_back(memory->address());
  }
  EXPECT_EQ(Told().memory.size(), 4);
  std::unique_ptr<TensorMemory> memory;
  Told().calls.clear();
  ASSERT_TRUE(pool_->Take(100, &memory).ok());
  // The one that came back first.
  EXPECT_EQ(memory->address(), addresses[0]);
  EXPECT_THAT(Told().calls, ElementsAre("hold back own stream"));
}

TEST_F(TensorPoolTest, OneThatIsDoneComesFirst) {
  auto others = TakeMany();
  auto memory = Take(512);
  EXPECT_TRUE(others[0]->HandOver(StreamOf(7)).ok());
  Told().reached = false;
  others[0].reset();
  const std::uint64_t address = memory->address();
  memory.reset();  // no stream had it
  EXPECT_EQ(Take(512)->address(), address);
}

TEST_F(TensorPoolTest, UnknownStreamsAreWaitedForOnlyIfMemoryIsShort) {
  auto taken = TakeMany();
  const std::uint64_t address = taken[0]->address();
  EXPECT_TRUE(taken[0]->HandOverUnordered().ok());
  taken[0].reset();
  std::unique_ptr<TensorMemory> memory;
  ASSERT_TRUE(pool_->Take(512, &memory).ok());
  EXPECT_THAT(Told().calls, Contains("await all"));
  EXPECT_EQ(memory->address(), address);
  // The GPU was at rest: whoever has it now is known.
  EXPECT_TRUE(memory->HandOver(StreamOf(7)).ok());
  memory.reset();
  Told().calls.clear();
  ASSERT_TRUE(pool_->Take(512, &memory).ok());
  EXPECT_THAT(Told().calls, Not(Contains("await all")));
}

TEST_F(TensorPoolTest, ThePerThreadStreamIsAnUnknownOne) {
  auto taken = TakeMany();
  EXPECT_TRUE(taken[0]->HandOver(StreamOf(2)).ok());
  EXPECT_THAT(Told().calls, ElementsAre("capturing", "hold back stream 2"));
  Told().calls.clear();
  taken[0].reset();
  EXPECT_THAT(Told().calls, ElementsAre()) << "which thread's?";
  std::unique_ptr<TensorMemory> memory;
  ASSERT_TRUE(pool_->Take(512, &memory).ok());
  EXPECT_THAT(Told().calls, ElementsAre("await all"));
}

TEST_F(TensorPoolTest, AStreamThatTakesNoEventIsAnUnknownOne) {
  auto taken = TakeMany();
  EXPECT_TRUE(taken[0]->HandOver(StreamOf(7)).ok());
  Told().result = cuda::PluginResult::kFailed;
  taken[0].reset();
  Told().result = cuda::PluginResult::kOk;
  Told().calls.clear();
  std::unique_ptr<TensorMemory> memory;
  ASSERT_TRUE(pool_->Take(512, &memory).ok());
  EXPECT_THAT(Told().calls, ElementsAre("await all"));
}

TEST_F(TensorPoolTest, AStreamThatIsCapturedIsAskedLater) {
  auto taken = TakeMany();
  const std::uint64_t address = taken[0]->address();
  EXPECT_TRUE(taken[0]->HandOver(StreamOf(7)).ok());
  Told().captures = 1;
  Told().calls.clear();
  taken[0].reset();
  auto other = Take(512);
  EXPECT_NE(other->address(), address) << "and nobody awaits all";
  EXPECT_THAT(Told().calls, ElementsAre());
  other.reset();
  pool_->Close();
  EXPECT_EQ(Told().memory.count(address), 1);
  Told().captures = 0;
  std::unique_ptr<TensorMemory> memory;
  ASSERT_TRUE(pool_->Take(512, &memory).ok());
  EXPECT_EQ(memory->address(), address);
  EXPECT_THAT(Told().calls, Contains("record on stream 7"));
}

TEST_F(TensorPoolTest, OneWaitFreesAllOfUnknownStreams) {
  auto taken = TakeMany();
  for (auto& memory : taken) {
    EXPECT_TRUE(memory->HandOverUnordered().ok());
    memory.reset();
  }
  Told().calls.clear();
  for (auto& memory : taken) EXPECT_TRUE(pool_->Take(512, &memory).ok());
  EXPECT_THAT(Told().calls, ElementsAre("await all"));
}

TEST_F(TensorPoolTest, TheOwnStreamWaitsForThoseThatHaveATensor) {
  const auto memory = Take(512);
  EXPECT_TRUE(memory->HandOver(StreamOf(7)).ok());
  Told().calls.clear();
  EXPECT_TRUE(memory->HoldBackOwnStream().ok());
  EXPECT_THAT(Told().calls,
              ElementsAre("record on stream 7", "hold back own stream"));
}

TEST_F(TensorPoolTest, AGpuThatCannotRestCostsMemory) {
  auto taken = TakeMany();
  const std::uint64_t address = taken[0]->address();
  EXPECT_TRUE(taken[0]->HandOverUnordered().ok());
  taken[0].reset();
  Told().rests = false;
  const auto memory = Take(512);
  EXPECT_NE(memory->address(), address);
  EXPECT_EQ(Told().memory.size(), 5);
}

TEST_F(TensorPoolTest, MemoryOfOtherSizesIsFreedIfItIsShort) {
  Told().room = 2048;
  Take(2048).reset();
  const auto memory = Take(512);
  EXPECT_EQ(Told().memory.size(), 1);
  std::unique_ptr<TensorMemory> more;
  EXPECT_EQ(pool_->Take(2048, &more).code, FOREBAY_RESOURCE_EXHAUSTED);
  EXPECT_EQ(pool_->Take(UINT64_MAX, &more).code, FOREBAY_RESOURCE_EXHAUSTED);
}

TEST_F(TensorPoolTest, AStreamThatStillHasMemoryIsWaitedForIfItIsShort) {
  Told().room = 512;
  auto memory = Take(512);
  EXPECT_TRUE(memory->HandOver(StreamOf(7)).ok());
  memory.reset();
  Told().reached = false;
  ASSERT_TRUE(pool_->Take(512, &memory).ok());
  EXPECT_THAT(Told().calls, Contains("hold back own stream"));
}

TEST_F(TensorPoolTest, NothingIsFreedBeforeTheGpuRests) {
  auto memory = Take(100);
  const auto held = Take(100);
  EXPECT_TRUE(memory->HandOverUnordered().ok());
  memory.reset();
  Told().rests = false;
  pool_->Close();
  EXPECT_EQ(Told().memory.size(), 2);
}

TEST_F(TensorPoolTest, AForkedChildLeavesTheGpuAlone) {
  auto memory = Take(100);
  const pid_t child = fork();
  if (child == 0) {
    std::unique_ptr<TensorMemory> more;
    EXPECT_EQ(pool_->Take(100, &more).code, FOREBAY_FORKED);
    EXPECT_EQ(memory->HandOver(StreamOf(7)).code, FOREBAY_FORKED);
    EXPECT_EQ(memory->HandOverUnordered().code, FOREBAY_FORKED);
    memory.reset();
    pool_->Close();
    pool_.reset();
    EXPECT_THAT(Told().calls, ElementsAre());
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace forebay::client::device
