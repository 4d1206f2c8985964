#include "server/dataset/records/packed_keys.h"

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

class PackedKeysTest {
 protected:
  PackedKeys Pack(const std::vector<std::string>& keys) {
    KeyPacker packer;
    for (const std::string& key : keys) {
      CHECK_THAT(packer.Add(key, memory_), IsOk());
    }
    return packer.Take();
  }

  base::MemoryBudget budget_{1 << 20};
  base::WorkingMemory memory_{&budget_, "a test"};
};

TEST_CASE_METHOD(PackedKeysTest, "Packed keys are read from their block",
                 "[records][packed_keys]") {
  std::vector<std::string> keys = {"", std::string(kLongestKey, 'k'),
                                   std::string("\0\xff", 2)};
  for (int i = 0; i < 100; ++i) keys.push_back(absl::StrCat("key-", 1000 + i));
  const PackedKeys packed = Pack(keys);
  REQUIRE(packed.blocks.size() ==
          (keys.size() + kKeysTogether - 1) / kKeysTogether);
  for (std::size_t block = 0; block < packed.blocks.size(); ++block) {
    KeyReader reader(
        std::string_view(packed.bytes).substr(packed.blocks[block]));
    for (std::size_t i = block * kKeysTogether; i < keys.size(); ++i) {
      REQUIRE(reader.Next());
      CHECK(reader.key() == keys[i]);
    }
    CHECK_FALSE(reader.Next());
  }
}

TEST_CASE_METHOD(PackedKeysTest, "A block of packed keys is measured",
                 "[records][packed_keys]") {
  std::vector<std::string> keys = {"", std::string(300, 'k')};
  for (int i = 0; i < 40; ++i) keys.push_back(absl::StrCat("key-", 1000 + i));
  const PackedKeys packed = Pack(keys);
  const std::string_view bytes = packed.bytes;
  std::uint64_t longest = 7;
  CHECK(MeasureBlock(bytes, kKeysTogether, &longest) == packed.blocks[1]);
  CHECK(longest == 300u);
  CHECK(MeasureBlock(bytes, 0, &longest) == 0u);
  longest = 7;
  CHECK(MeasureBlock(bytes.substr(packed.blocks[1]), 10, &longest) ==
        bytes.size() - packed.blocks[1]);
  CHECK(longest == 8u);
}

TEST_CASE_METHOD(PackedKeysTest,
                 "A malformed block of packed keys is not measured",
                 "[records][packed_keys]") {
  const PackedKeys packed = Pack({"one", "only"});
  std::uint64_t longest = 0;
  CHECK(MeasureBlock(packed.bytes, 3, &longest) == std::nullopt);
  for (std::size_t size = 0; size < packed.bytes.size(); ++size) {
    CHECK(MeasureBlock(packed.bytes.substr(0, size), 2, &longest) ==
          std::nullopt);
  }
  // The first key shares with none; numbers have three bytes at most.
  CHECK(MeasureBlock("\x01\x01x", 1, &longest) == std::nullopt);
  CHECK(MeasureBlock(std::string("\0\x81\x80\x80\0x", 6), 1, &longest) ==
        std::nullopt);
}

TEST_CASE_METHOD(
    PackedKeysTest,
    "Neighbouring packed keys take only the bytes that they differ in",
    "[records][packed_keys]") {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i)
    keys.push_back(absl::StrCat("some/long/path/of/images/", 10000 + i));
  CHECK(Pack(keys).bytes.size() < 5 * keys.size());
}

TEST_CASE_METHOD(PackedKeysTest,
                 "The key packer refuses keys that are too long",
                 "[records][packed_keys]") {
  KeyPacker packer;
  CHECK_THAT(packer.Add(std::string(kLongestKey + 1, 'k'), memory_),
             HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(PackedKeysTest, "The key packer counts its memory",
                 "[records][packed_keys]") {
  base::MemoryBudget budget(1 << 16);
  base::WorkingMemory memory(&budget, "a test");
  KeyPacker packer;
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i)
    status = packer.Add(absl::StrCat(i, std::string(4000, 'k')), memory);
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE_METHOD(PackedKeysTest,
                 "The reader of packed keys ends at malformed keys",
                 "[records][packed_keys]") {
  for (const std::string_view packed :
       {std::string_view("\x01\x01k", 3), std::string_view("\x00", 1),
        std::string_view("\x00\x02k", 3),
        std::string_view("\x80\x80\x80\x00", 4),
        std::string_view("\x00\x81\x80\x04", 4)}) {
    KeyReader reader(packed);
    CAPTURE(packed.size());
    CHECK_FALSE(reader.Next());
  }
}

}  // namespace
}  // namespace forebay::dataset::records
