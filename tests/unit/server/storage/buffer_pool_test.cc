#include "server/storage/buffer_pool.h"

#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::storage {
namespace {

TEST_CASE("Buffers of a buffer pool hold as many bytes as were asked for",
          "[storage][buffer_pool]") {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  const auto fill = [&pool](std::size_t length) {
    const auto buffer = pool->Take(length);
    std::memset(buffer.get(), 1, length);
    CHECK((length == 0 || buffer.get()[length - 1] == 1));
  };
  for (std::size_t length = 0; length < 100'000; length += 509) fill(length);
  for (int shift = 0; shift < 27; ++shift)
    for (int delta : {-1, 0, 1}) fill((std::size_t{1} << shift) + delta);
}

TEST_CASE("Spent buffers of a buffer pool are used again",
          "[storage][buffer_pool]") {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  const std::uint8_t* first = pool->Take(47'000).get();
  CHECK(pool->spare() >= 47'000);
  CHECK(pool->spare() <= 47'000 * 5 / 4);
  const auto again = pool->Take(48'000);
  CHECK(again.get() == first);
  CHECK(pool->spare() == 0);
}

TEST_CASE("A buffer pool keeps no more spare bytes than it may",
          "[storage][buffer_pool]") {
  const auto pool = std::make_shared<BufferPool>(100'000);
  std::vector<std::shared_ptr<std::uint8_t>> held;
  for (int i = 0; i < 10; ++i) held.push_back(pool->Take(30'000));
  held.clear();
  CHECK(pool->spare() <= 100'000);
  CHECK(pool->spare() >= 60'000);
}

TEST_CASE("A buffer outlives its buffer pool", "[storage][buffer_pool]") {
  auto pool = std::make_shared<BufferPool>(1 << 20);
  const auto buffer = pool->Take(5000);
  pool.reset();
  std::memset(buffer.get(), 1, 5000);
  CHECK(buffer.get()[4999] == 1);
}

TEST_CASE("A buffer pool gives null if asked for more memory than there is",
          "[storage][buffer_pool]") {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  CHECK(pool->Take(std::size_t{1} << 62) == nullptr);
}

TEST_CASE("A buffer pool serves many threads", "[storage][buffer_pool]") {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&pool, &wrong, thread] {
      for (int i = 0; i < 2000; ++i) {
        const std::size_t length = 1 + (i * 7919) % 100'000;
        const auto buffer = pool->Take(length);
        buffer.get()[0] = thread;
        buffer.get()[length - 1] = thread;
        wrong += buffer.get()[0] != thread;
      }
    });
  threads.clear();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace forebay::storage
