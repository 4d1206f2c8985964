#include "server/stream/slot_memory.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/device/fake_device.h"

namespace forebay::stream {
namespace {

constexpr SlotSize kSize = {.host = 4096, .device = std::uint64_t{2} << 20};

class SlotMemoryTest : public ::testing::Test {
 protected:
  std::vector<SlotParts> Make(std::uint32_t slots) {
    auto made = SlotMemory::Make(slots, kSize, memory_.attached());
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  bool Add(std::vector<SlotParts> slots) { return memory_.Add(&slots); }

  base::MemoryBudget budget_{20 * kSize.host};
  device::FakeDevice a_{0, 10 * kSize.device};
  device::FakeDevice b_{1, 5 * kSize.device};
  SlotMemory memory_{&budget_, kSize};
};

TEST_F(SlotMemoryTest, IsMadeWithoutThreads) {
  const base::NoThreads none;
  EXPECT_EQ(Make(3).size(), 3);
}

TEST_F(SlotMemoryTest, ReservesOnTheHostAndOnEachGpu) {
  ASSERT_TRUE(memory_.Reserve(2).ok());
  ASSERT_TRUE(memory_.Join(a_.device).ok());
  EXPECT_EQ(a_.device->budget().used(), 2 * kSize.device);
  ASSERT_TRUE(memory_.Join(b_.device).ok());
  ASSERT_TRUE(memory_.Reserve(5).ok());
  EXPECT_EQ(budget_.used(), 5 * kSize.host);
  EXPECT_EQ(b_.device->budget().used(), 5 * kSize.device);
  const absl::Status refused = memory_.Reserve(6);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_NE(refused.message().find("GPU 1"), std::string::npos) << refused;
  EXPECT_EQ(budget_.used(), 5 * kSize.host) << "nothing is kept";
  EXPECT_EQ(a_.device->budget().used(), 5 * kSize.device);
  EXPECT_FALSE(memory_.ReserveSpare(1));
  memory_.ShrinkTo(1);
  EXPECT_EQ(a_.device->budget().used(), kSize.device);
  EXPECT_TRUE(memory_.ReserveSpare(1));
  EXPECT_EQ(memory_.reserved(), 2);
  EXPECT_EQ(b_.device->budget().used(), 2 * kSize.device);
  EXPECT_TRUE(memory_.Leave(b_.device.get()).empty());
  EXPECT_EQ(b_.device->budget().used(), 0);
}

TEST_F(SlotMemoryTest, AGpuThatHasNoRoomDoesNotJoin) {
  ASSERT_TRUE(memory_.Reserve(6).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(memory_.Join(b_.device)));
  EXPECT_FALSE(memory_.IsAttached(b_.device.get()));
  EXPECT_EQ(b_.device->budget().used(), 0);
}

TEST_F(SlotMemoryTest, EverySlotHasAPartOnEachGpuThatIsAttached) {
  ASSERT_TRUE(memory_.Join(a_.device).ok());
  ASSERT_TRUE(Add(Make(2)));
  ASSERT_TRUE(memory_.Join(b_.device).ok());
  EXPECT_FALSE(memory_.IsAttached(b_.device.get()));
  ASSERT_TRUE(Add(Make(1))) << "b is not attached yet";
  std::vector<SlotParts> before = Make(1);
  memory_.Attach(b_.device.get(), *SlotMemory::MakeParts(3, kSize, *b_.device));
  EXPECT_FALSE(Add(std::move(before))) << "it has no part on b";
  EXPECT_EQ(memory_.slots(), 3);
  ASSERT_TRUE(Add(Make(1)));
  EXPECT_NE(memory_.part(a_.device.get(), 3), nullptr);
  EXPECT_NE(memory_.part(b_.device.get(), 3), nullptr);
  EXPECT_EQ(b_.gpu->allocated(), 4 * kSize.device);
  EXPECT_EQ(memory_.RemoveLast().device_parts.size(), 2);
  EXPECT_EQ(b_.gpu->allocated(), 3 * kSize.device);
}

TEST_F(SlotMemoryTest, PartsGoWithTheLastMember) {
  ASSERT_TRUE(memory_.Join(a_.device).ok());
  ASSERT_TRUE(memory_.Join(a_.device).ok());
  ASSERT_TRUE(Add(Make(2)));
  EXPECT_TRUE(memory_.Leave(a_.device.get()).empty());
  EXPECT_TRUE(memory_.IsAttached(a_.device.get()));
  EXPECT_EQ(memory_.Leave(a_.device.get()).size(), 2);
  EXPECT_EQ(a_.gpu->allocated(), 0);
  EXPECT_EQ(memory_.slots(), 2) << "the host's parts stay";
}

}  // namespace
}  // namespace forebay::stream
