#include "server/dataset/shards/key_list.h"

#include <random>
#include <string>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::dataset::shards {
namespace {

TEST_CASE("A key list gives back every key", "[shards][key_list]") {
  const std::vector<std::string> keys = {"a/0001",
                                         "a/0002",
                                         "a/0010",
                                         "",
                                         "b",
                                         "b",
                                         "ba",
                                         std::string(255, 'x'),
                                         std::string(254, 'x') + "y"};
  KeyList list;
  for (const std::string& key : keys) list.Add(key);
  const auto points = KeyRestarts::Create(list.compressed(), keys.size());
  REQUIRE(points.has_value());
  CHECK_FALSE(
      KeyRestarts::Create(list.compressed(), keys.size() - 1).has_value());
  CHECK_FALSE(
      KeyRestarts::Create(list.compressed(), keys.size() + 1).has_value());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CHECK(points->KeyAt(list.compressed(), i) == keys[i]);
  }
  CHECK(points->KeyAt(list.compressed(), keys.size()) == std::nullopt);
}

TEST_CASE("A key list finds a late key without a walk from the first",
          "[shards][key_list]") {
  constexpr std::uint64_t kCount = 4 * KeyRestarts::kStride;
  KeyList list;
  for (std::uint64_t i = 0; i < kCount; ++i)
    list.Add("n" + std::to_string(100000 + i));
  const auto points = KeyRestarts::Create(list.compressed(), kCount);
  REQUIRE(points.has_value());
  for (std::uint64_t i = 0; i < kCount; ++i)
    REQUIRE(points->KeyAt(list.compressed(), i) ==
            "n" + std::to_string(100000 + i));
  CHECK(points->KeyAt(list.compressed(), kCount) == std::nullopt);
  CHECK(points->KeyAt(list.compressed(), UINT64_MAX) == std::nullopt);
  // Only a walk from the first key on would reach the malformed byte.
  std::string spoiled = list.compressed();
  spoiled[0] = '\xff';
  CHECK(points->KeyAt(spoiled, 0) == std::nullopt);
  CHECK(points->KeyAt(spoiled, kCount - 1) ==
        "n" + std::to_string(100000 + kCount - 1));
}

TEST_CASE("A key list counts the memory of its restart points",
          "[shards][key_list]") {
  constexpr std::uint64_t kCount = 3 * KeyRestarts::kStride;
  KeyList list;
  for (std::uint64_t i = 0; i < kCount; ++i) list.Add(std::string(255, 'x'));
  const auto points = KeyRestarts::Create(list.compressed(), kCount);
  REQUIRE(points.has_value());
  CHECK(points->memory() > 3 * 255);
  CHECK(points->memory() <= KeyRestarts::Bytes(list.compressed().size()));
}

TEST_CASE("A key list cuts long keys off", "[shards][key_list]") {
  KeyList list;
  list.Add(std::string(1000, 'x'));
  list.Add(std::string(300, 'x') + "y");
  const auto points = KeyRestarts::Create(list.compressed(), 2);
  REQUIRE(points.has_value());
  CHECK(points->KeyAt(list.compressed(), 0) == std::string(255, 'x'));
  CHECK(points->KeyAt(list.compressed(), 1) == std::string(255, 'x'));
}

TEST_CASE("A key list stores consecutive numbers in three or four bytes each",
          "[shards][key_list]") {
  KeyList list;
  for (int i = 0; i < 10000; ++i) {
    list.Add("n01440764/" + std::to_string(100000 + i));
  }
  CHECK(list.compressed().size() < 10000 * 3.2);
}

TEST_CASE("A key list of arbitrary bytes is refused or gives every key",
          "[shards][key_list]") {
  constexpr std::uint32_t kSeed = 20261121;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  int lists = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string compressed(random() % 12, '\0');
    for (char& byte : compressed) byte = static_cast<char>(random() % 4);
    const std::uint64_t count = random() % 4;
    const auto points = KeyRestarts::Create(compressed, count);
    if (!points.has_value()) continue;
    ++lists;
    for (std::uint64_t i = 0; i < count; ++i) {
      CHECK(points->KeyAt(compressed, i) != std::nullopt);
    }
  }
  CHECK(lists > 100);
}

}  // namespace
}  // namespace forebay::dataset::shards
