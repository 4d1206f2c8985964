#include "server/base/sealed_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stop_token>
#include <thread>
#include <utility>

namespace forebay::base {
namespace {

constexpr off_t kPage = 4096;

Fd Sealed(off_t bytes, int seals) {
  Fd fd(memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), bytes), 0);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

TEST(SealedMemoryTest, HoldsItsBytesInTheBudget) {
  MemoryBudget budget(10 * kPage);
  const Fd fd = Sealed(3 * kPage, F_SEAL_WRITE | F_SEAL_SHRINK);
  {
    const auto memory = SealedMemory::Map(fd, &budget, "a list");
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ((*memory)->bytes().size(), 3 * kPage);
    EXPECT_EQ(budget.used(), 3 * kPage);
  }
  EXPECT_EQ(budget.used(), 0);
  auto reserved = budget.Reserve(3 * kPage, "a list");
  ASSERT_TRUE(reserved.ok());
  const auto memory = SealedMemory::Map(fd, *std::move(reserved), "a list");
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(budget.used(), 3 * kPage);
}

TEST(SealedMemoryTest, RefusesWhatMayChange) {
  MemoryBudget budget(10 * kPage);
  for (const int seals : {0, F_SEAL_WRITE, F_SEAL_SHRINK, F_SEAL_GROW}) {
    const auto memory =
        SealedMemory::Map(Sealed(kPage, seals), &budget, "a list");
    EXPECT_TRUE(absl::IsInvalidArgument(memory.status())) << seals;
  }
}

// Another process may make it grow at any time: that changes no bytes of it.
TEST(SealedMemoryTest, MayGrowMeanwhile) {
  constexpr int kTimes = 20'000;
  MemoryBudget budget(kPage * (kTimes + 1));
  const Fd fd = Sealed(kPage, F_SEAL_WRITE | F_SEAL_SHRINK);
  const std::jthread grower([&](const std::stop_token& stop) {
    for (int i = 2; i <= kTimes && !stop.stop_requested(); ++i)
      EXPECT_EQ(ftruncate(fd.get(), i * kPage), 0);
  });
  for (int i = 0; i < kTimes / 4; ++i) {
    const auto memory = SealedMemory::Map(fd, &budget, "a list");
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ((*memory)->bytes().size(), budget.used());
  }
}

}  // namespace
}  // namespace forebay::base
