#include "server/dataset/shards/shard_index_format.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using tests::HasCode;
using tests::IsOk;

std::string Encoded() {
  ShardIndexParts parts;
  parts.fields = {"jpg;png", "cls"};
  parts.names = "a.tarb.tar";
  parts.shards = {{0, 5, 0, 0, 10240, 7, 11, 12},
                  {5, 5, 1, 4, 4096, -8, 13, 14}};
  parts.keys = std::string("\0\2k1\0\1x", 7);
  parts.members = {{1, 100}, {3, 1}, {5, 200}, {1, 2}};
  parts.alternatives = {0, 1};
  auto index = ShardIndex::Create(std::move(parts));
  CHECK_THAT(index, IsOk());
  return EncodeShardIndex(**index);
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> Decode(
    absl::Span<const std::uint8_t> bytes) {
  base::WorkingMemory memory(base::AmpleBudget(), "an index");
  IndexFileReader file(bytes);
  return DecodeShardIndex(file, memory);
}

TEST_CASE("The shard index format gives back what it was given",
          "[shards][shard_index_format]") {
  const std::string bytes = Encoded();
  const auto index = Decode(AsBytes(bytes));
  REQUIRE_THAT(index, IsOk());
  CHECK(EncodeShardIndex(**index) == bytes);
  CHECK((*index)->size() == 2u);
  CHECK((*index)->ShardAt(1).name == "b.tar");
  CHECK((*index)->ShardAt(1).version ==
        storage::ObjectVersion{4096, -8, {13, 14}});
  CHECK((*index)->MemberOf(1, 0).offset == 2560u);
  CHECK((*index)->MemberOf(1, 0).alternative == 1u);
  CHECK((*index)->fields().fields()[0] == "jpg;png");
  CHECK((*index)->KeyOf(0) == "k1");
  CHECK((*index)->KeyOf(1) == "x");
}

TEST_CASE("The shard index format keeps fields with blanks",
          "[shards][shard_index_format]") {
  const std::vector<std::string> fields = {"0 (clean version).txt", "cls"};
  ShardIndexParts parts;
  parts.fields = fields;
  const auto index = ShardIndex::Create(std::move(parts));
  REQUIRE_THAT(index, IsOk());
  const std::string bytes = EncodeShardIndex(**index);
  const auto decoded = Decode(AsBytes(bytes));
  REQUIRE_THAT(decoded, IsOk());
  CHECK((*decoded)->fields().fields() == fields);
}

ShardIndexParts GzippedParts() {
  ShardIndexParts parts;
  parts.fields = {"npy;npy.gz", "cls", "txt.gz"};
  parts.names = "a.tar";
  parts.shards = {{0, 5, 0, 0, 10240, 7, 11, 12}};
  parts.keys = std::string("\0\2k1\0\1x", 7);
  parts.members = {{1, 100}, {3, 1}, {5, 20}, {7, 50}, {9, 2}, {11, 30}};
  parts.alternatives = {0, 1};
  parts.decompressed = {100, 400, 500, 60};
  return parts;
}

TEST_CASE("The shard index format keeps the lengths that members inflate to",
          "[shards][shard_index_format]") {
  const auto index = ShardIndex::Create(GzippedParts());
  REQUIRE_THAT(index, IsOk());
  const std::string bytes = EncodeShardIndex(**index);
  const auto decoded = Decode(AsBytes(bytes));
  REQUIRE_THAT(decoded, IsOk());
  CHECK(EncodeShardIndex(**decoded) == bytes);
  CHECK((*decoded)->BytesOf(0, 0) == 100);
  CHECK((*decoded)->BytesOf(0, 1) == 1);
  CHECK((*decoded)->BytesOf(0, 2) == 400);
  CHECK((*decoded)->BytesOf(1, 0) == 500);
  CHECK((*decoded)->LongestOf(0) == 500);
  CHECK((*decoded)->ShortestOf(2) == 60);
  ShardIndexParts other = GzippedParts();
  other.decompressed.pop_back();
  CHECK_THAT(ShardIndex::Create(std::move(other)),
             HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("The shard index format's layout is as documented",
          "[shards][shard_index_format]") {
  const std::string bytes = Encoded();
  CHECK(bytes.size() == 72 + 2 * 64 + 4 * 8 + 2 + 10 + 7 + 11 + 16);
  CHECK(bytes.substr(0, 8) == "FBYSHARD");
  CHECK(bytes.substr(8, 16) ==
        std::string("\5\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16));
  CHECK(bytes.substr(72 + 2 * 64, 8) == std::string("\1\0\0\0\x64\0\0\0", 8));
  CHECK(bytes.substr(72 + 2 * 64 + 4 * 8 + 2, 28) ==
        std::string("a.tarb.tar\0\2k1\0\1xjpg;png/cls", 28));
}

TEST_CASE("The shard index format notices every flipped bit",
          "[shards][shard_index_format]") {
  const std::string bytes = Encoded();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= 1 << bit % 8;
    CAPTURE(bit);
    CHECK_THAT(Decode(AsBytes(damaged)), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("The shard index format notices every other length",
          "[shards][shard_index_format]") {
  const std::string bytes = Encoded();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_THAT(Decode(AsBytes(bytes.substr(0, length))),
               HasCode(absl::StatusCode::kDataLoss));
  }
  CHECK_FALSE(Decode(AsBytes(bytes + '\0')).ok());
}

}  // namespace
}  // namespace forebay::dataset::shards
