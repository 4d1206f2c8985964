#include "server/storage/local/page_pool.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::storage::local {
namespace {

constexpr std::size_t kPage = 4096;

bool Within(const PagePool& pool, const std::uint8_t* buffer) {
  return buffer >= pool.piece().data() &&
         buffer < pool.piece().data() + pool.piece().size();
}

TEST_CASE("A page pool cuts buffers from its piece and then maps others",
          "[local][page_pool]") {
  const auto pool = std::make_shared<PagePool>(10 * kPage + 1);
  CHECK(pool->piece().size() == 10 * kPage);
  const auto first = pool->Take(4 * kPage);
  const auto second = pool->Take(5 * kPage + 1);
  CHECK(Within(*pool, first.get()));
  CHECK(Within(*pool, second.get()));
  CHECK(pool->free() == 0);
  const auto beyond = pool->Take(1);
  CHECK_FALSE(Within(*pool, beyond.get()));
  CHECK(reinterpret_cast<std::uintptr_t>(beyond.get()) % kPage == 0);
  std::memset(beyond.get(), 1, kPage);
}

TEST_CASE("Neighbouring buffers that are given back to a page pool join",
          "[local][page_pool]") {
  const auto pool = std::make_shared<PagePool>(8 * kPage);
  auto first = pool->Take(2 * kPage);
  auto second = pool->Take(3 * kPage);
  auto third = pool->Take(3 * kPage);
  first.reset();
  third.reset();
  CHECK(pool->free() == 5 * kPage);
  CHECK_FALSE(Within(*pool, pool->Take(4 * kPage).get()));
  second.reset();
  CHECK(Within(*pool, pool->Take(8 * kPage).get()));
}

TEST_CASE("Buffers of a page pool never overlap", "[local][page_pool]") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pool = std::make_shared<PagePool>(64 * kPage);
  struct Held {
    std::shared_ptr<std::uint8_t> buffer;
    std::size_t length;
    std::uint8_t mark;
  };
  std::vector<Held> held;
  for (int i = 0; i < 2000; ++i) {
    if (held.size() < 20 && random() % 2 == 0) {
      const std::size_t length = 1 + random() % (8 * kPage);
      const auto mark = static_cast<std::uint8_t>(i);
      held.push_back({pool->Take(length), length, mark});
      std::memset(held.back().buffer.get(), mark, length);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      for (std::size_t byte = 0; byte < held.back().length; ++byte)
        REQUIRE(held.back().buffer.get()[byte] == held.back().mark);
      held.pop_back();
    }
  }
  held.clear();
  CHECK(pool->free() == 64 * kPage);
  CHECK(Within(*pool, pool->Take(64 * kPage).get()));
}

TEST_CASE("Buffers of a page pool outlive the pool", "[local][page_pool]") {
  auto pool = std::make_shared<PagePool>(2 * kPage);
  const auto buffer = pool->Take(kPage);
  pool.reset();
  std::memset(buffer.get(), 1, kPage);
  CHECK(buffer.get()[kPage - 1] == 1);
}

TEST_CASE("A page pool keeps some of what it mapped", "[local][page_pool]") {
  const auto pool = std::make_shared<PagePool>(0, 5 * kPage);
  auto first = pool->Take(3 * kPage);
  auto second = pool->Take(2 * kPage);
  auto third = pool->Take(kPage);
  const std::uint8_t* const kept = second.get();
  first.reset();
  second.reset();
  CHECK(pool->spare() == 5 * kPage);
  third.reset();  // more than the pool may keep
  CHECK(pool->spare() == 5 * kPage);
  // The pool has no memory of this length.
  const auto other = pool->Take(kPage);
  CHECK(pool->spare() == 5 * kPage);
  const auto again = pool->Take(2 * kPage - 1);
  CHECK(again.get() == kept);
  CHECK(pool->spare() == 3 * kPage);
  std::memset(again.get(), 1, 2 * kPage);
}

TEST_CASE("A page pool does without a piece", "[local][page_pool]") {
  const auto pool = std::make_shared<PagePool>(0);
  CHECK(pool->piece().empty());
  std::memset(pool->Take(100'000).get(), 1, 100'000);
  CHECK(pool->Take(SIZE_MAX) == nullptr);
}

}  // namespace
}  // namespace forebay::storage::local
