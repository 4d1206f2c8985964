#include "server/dataset/records/compressed_keys.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/memory_budget.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset::records {
namespace {

using tests::HasCode;
using tests::IsOk;

class CompressedKeysTest {
 protected:
  CompressedKeys Compress(const std::vector<std::string>& keys) {
    KeyCompressor compressor;
    for (const std::string& key : keys) {
      CHECK_THAT(compressor.Add(key, memory_), IsOk());
    }
    return compressor.Take();
  }

  base::MemoryBudget budget_{1 << 20};
  base::WorkingMemory memory_{&budget_, "a test"};
};

TEST_CASE_METHOD(CompressedKeysTest,
                 "Compressed keys are read from their block",
                 "[records][compressed_keys]") {
  std::vector<std::string> keys = {"", std::string(kLongestKey, 'k'),
                                   std::string("\0\xff", 2)};
  for (int i = 0; i < 100; ++i) keys.push_back(absl::StrCat("key-", 1000 + i));
  const CompressedKeys compressed = Compress(keys);
  REQUIRE(compressed.blocks.size() ==
          (keys.size() + kKeysTogether - 1) / kKeysTogether);
  for (std::size_t block = 0; block < compressed.blocks.size(); ++block) {
    KeyReader reader(
        std::string_view(compressed.bytes).substr(compressed.blocks[block]));
    for (std::size_t i = block * kKeysTogether; i < keys.size(); ++i) {
      REQUIRE(reader.Next());
      CHECK(reader.key() == keys[i]);
    }
    CHECK_FALSE(reader.Next());
  }
}

TEST_CASE_METHOD(CompressedKeysTest, "A block of compressed keys is measured",
                 "[records][compressed_keys]") {
  std::vector<std::string> keys = {"", std::string(300, 'k')};
  for (int i = 0; i < 40; ++i) keys.push_back(absl::StrCat("key-", 1000 + i));
  const CompressedKeys compressed = Compress(keys);
  const std::string_view bytes = compressed.bytes;
  std::uint64_t longest = 7;
  CHECK(MeasureBlock(bytes, kKeysTogether, &longest) == compressed.blocks[1]);
  CHECK(longest == 300u);
  CHECK(MeasureBlock(bytes, 0, &longest) == 0u);
  longest = 7;
  CHECK(MeasureBlock(bytes.substr(compressed.blocks[1]), 10, &longest) ==
        bytes.size() - compressed.blocks[1]);
  CHECK(longest == 8u);
}

TEST_CASE_METHOD(CompressedKeysTest,
                 "A malformed block of compressed keys is not measured",
                 "[records][compressed_keys]") {
  const CompressedKeys compressed = Compress({"one", "only"});
  std::uint64_t longest = 0;
  CHECK(MeasureBlock(compressed.bytes, 3, &longest) == std::nullopt);
  for (std::size_t size = 0; size < compressed.bytes.size(); ++size) {
    CHECK(MeasureBlock(compressed.bytes.substr(0, size), 2, &longest) ==
          std::nullopt);
  }
  // The first key of a block shares no bytes with an earlier key. Numbers have
  // at most three bytes.
  CHECK(MeasureBlock("\x01\x01x", 1, &longest) == std::nullopt);
  CHECK(MeasureBlock(std::string("\0\x81\x80\x80\0x", 6), 1, &longest) ==
        std::nullopt);
}

TEST_CASE_METHOD(
    CompressedKeysTest,
    "Neighbouring compressed keys take only the bytes that they differ in",
    "[records][compressed_keys]") {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i)
    keys.push_back(absl::StrCat("some/long/path/of/images/", 10000 + i));
  CHECK(Compress(keys).bytes.size() < 5 * keys.size());
}

TEST_CASE_METHOD(CompressedKeysTest,
                 "The key compressor refuses keys that are too long",
                 "[records][compressed_keys]") {
  KeyCompressor compressor;
  CHECK_THAT(compressor.Add(std::string(kLongestKey + 1, 'k'), memory_),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(CompressedKeysTest, "The key compressor counts its memory",
                 "[records][compressed_keys]") {
  base::MemoryBudget budget(1 << 16);
  base::WorkingMemory memory(&budget, "a test");
  KeyCompressor compressor;
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i)
    status = compressor.Add(absl::StrCat(i, std::string(4000, 'k')), memory);
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE_METHOD(CompressedKeysTest,
                 "The reader of compressed keys ends at malformed keys",
                 "[records][compressed_keys]") {
  for (const std::string_view compressed :
       {std::string_view("\x01\x01k", 3), std::string_view("\x00", 1),
        std::string_view("\x00\x02k", 3),
        std::string_view("\x80\x80\x80\x00", 4),
        std::string_view("\x00\x81\x80\x04", 4)}) {
    KeyReader reader(compressed);
    CAPTURE(compressed.size());
    CHECK_FALSE(reader.Next());
  }
}

}  // namespace
}  // namespace forebay::dataset::records
