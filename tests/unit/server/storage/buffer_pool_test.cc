#include "server/storage/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace forebay::storage {
namespace {

TEST(BufferPoolTest, BuffersHoldWhatWasAsked) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  for (std::size_t length = 0; length < 100'000; length += 509) {
    const auto buffer = pool->Take(length);
    std::memset(buffer.get(), 0xFF, length);
  }
  for (int shift = 0; shift < 27; ++shift)
    for (int delta : {-1, 0, 1}) {
      const std::size_t length = (std::size_t{1} << shift) + delta;
      std::memset(pool->Take(length).get(), 0xFF, length);
    }
}

TEST(BufferPoolTest, SpentBuffersAreUsedAgain) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  const std::uint8_t* first = pool->Take(47'000).get();
  EXPECT_GE(pool->spare(), 47'000);
  EXPECT_LE(pool->spare(), 47'000 * 5 / 4);
  const auto again = pool->Take(48'000);
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(pool->spare(), 0);
}

TEST(BufferPoolTest, KeepsNoMoreThanItMay) {
  const auto pool = std::make_shared<BufferPool>(100'000);
  std::vector<std::shared_ptr<std::uint8_t>> held;
  for (int i = 0; i < 10; ++i) held.push_back(pool->Take(30'000));
  held.clear();
  EXPECT_LE(pool->spare(), 100'000);
  EXPECT_GE(pool->spare(), 60'000);
}

TEST(BufferPoolTest, ABufferOutlivesItsPool) {
  auto pool = std::make_shared<BufferPool>(1 << 20);
  const auto buffer = pool->Take(5000);
  pool.reset();
  std::memset(buffer.get(), 1, 5000);
}

TEST(BufferPoolTest, MoreThanThereIsGivesNull) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  EXPECT_EQ(pool->Take(std::size_t{1} << 62), nullptr);
}

TEST(BufferPoolTest, ServesManyThreads) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&pool, thread] {
      for (int i = 0; i < 2000; ++i) {
        const std::size_t length = 1 + (i * 7919) % 100'000;
        const auto buffer = pool->Take(length);
        buffer.get()[0] = thread;
        buffer.get()[length - 1] = thread;
        EXPECT_EQ(buffer.get()[0], thread);
      }
    });
}

}  // namespace
}  // namespace forebay::storage
