#include "server/cache/disk/entry_queue.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::cache::disk {
namespace {

constexpr std::size_t kBytes = 100;

StoreEntry EntryAt(std::uint64_t offset) {
  const auto bytes = std::make_shared<std::vector<std::uint8_t>>(kBytes);
  StoreEntry entry;
  entry.root = std::make_shared<const std::string>("root");
  entry.object = "object";
  entry.offset = offset;
  entry.bytes = base::Bytes(bytes, *bytes);
  return entry;
}

TEST_CASE("A queue of entries refuses what exceeds its memory",
          "[disk][entry_queue]") {
  const std::uint64_t memory = EntryAt(0).memory();
  EntryQueue queue(2 * memory);
  CHECK(queue.Push(EntryAt(0)));
  CHECK(queue.Push(EntryAt(1)));
  CHECK_FALSE(queue.Push(EntryAt(2)));
  CHECK(queue.memory() == 2 * memory);
  std::vector<StoreEntry> batch;
  REQUIRE(queue.Await(/*batch_bytes=*/1, &batch));
  UNSCOPED_INFO("an entry counts until it is written");
  CHECK_FALSE(queue.Push(EntryAt(2)));
  queue.Written(memory);
  CHECK(queue.Push(EntryAt(2)));
}

TEST_CASE("A batch of a queue has the oldest entries", "[disk][entry_queue]") {
  EntryQueue queue(std::uint64_t{1} << 20);
  for (std::uint64_t offset = 0; offset < 3; ++offset)
    REQUIRE(queue.Push(EntryAt(offset)));
  std::vector<StoreEntry> batch;
  REQUIRE(queue.Await(kBytes + 1, &batch));
  REQUIRE(batch.size() == 2);
  CHECK(batch[0].offset == 0);
  CHECK(batch[1].offset == 1);
  batch.clear();
  REQUIRE(queue.Await(kBytes + 1, &batch));
  REQUIRE(batch.size() == 1);
  CHECK(batch[0].offset == 2);
}

TEST_CASE("A queue that ends gives out the entries that wait",
          "[disk][entry_queue]") {
  EntryQueue queue(std::uint64_t{1} << 20);
  REQUIRE(queue.Push(EntryAt(0)));
  queue.End();
  std::vector<StoreEntry> batch;
  CHECK(queue.Await(kBytes, &batch));
  CHECK(batch.size() == 1);
  CHECK_FALSE(queue.Await(kBytes, &batch));
}

}  // namespace
}  // namespace forebay::cache::disk
