#include "server/dataset/records/packed_keys.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/base/memory_budget.h"

namespace forebay::dataset::records {
namespace {

class PackedKeysTest : public ::testing::Test {
 protected:
  PackedKeys Pack(const std::vector<std::string>& keys) {
    KeyPacker packer;
    for (const std::string& key : keys) {
      EXPECT_TRUE(packer.Add(key, memory_).ok());
    }
    return packer.Take();
  }

  base::MemoryBudget budget_{1 << 20};
  base::WorkingMemory memory_{&budget_, "a test"};
};

TEST_F(PackedKeysTest, KeysAreReadFromTheirBlock) {
  std::vector<std::string> keys = {"", std::string(kLongestKey, 'k'),
                                   std::string("\0\xff", 2)};
  for (int i = 0; i < 100; ++i) keys.push_back(absl::StrCat("key-", 1000 + i));
  const PackedKeys packed = Pack(keys);
  ASSERT_EQ(packed.blocks.size(),
            (keys.size() + kKeysTogether - 1) / kKeysTogether);
  for (std::size_t block = 0; block < packed.blocks.size(); ++block) {
    KeyReader reader(
        std::string_view(packed.bytes).substr(packed.blocks[block]));
    for (std::size_t i = block * kKeysTogether; i < keys.size(); ++i) {
      ASSERT_TRUE(reader.Next());
      EXPECT_EQ(reader.key(), keys[i]);
    }
    EXPECT_FALSE(reader.Next());
  }
}

TEST_F(PackedKeysTest, ABlockIsMeasured) {
  std::vector<std::string> keys = {"", std::string(300, 'k')};
  for (int i = 0; i < 40; ++i) keys.push_back(absl::StrCat("key-", 1000 + i));
  const PackedKeys packed = Pack(keys);
  const std::string_view bytes = packed.bytes;
  std::uint64_t longest = 7;
  EXPECT_EQ(MeasureBlock(bytes, kKeysTogether, &longest), packed.blocks[1]);
  EXPECT_EQ(longest, 300u);
  EXPECT_EQ(MeasureBlock(bytes, 0, &longest), 0u);
  longest = 7;
  EXPECT_EQ(MeasureBlock(bytes.substr(packed.blocks[1]), 10, &longest),
            bytes.size() - packed.blocks[1]);
  EXPECT_EQ(longest, 8u);
}

TEST_F(PackedKeysTest, AMalformedBlockIsNotMeasured) {
  const PackedKeys packed = Pack({"one", "only"});
  std::uint64_t longest = 0;
  EXPECT_EQ(MeasureBlock(packed.bytes, 3, &longest), std::nullopt);
  for (std::size_t size = 0; size < packed.bytes.size(); ++size) {
    EXPECT_EQ(MeasureBlock(packed.bytes.substr(0, size), 2, &longest),
              std::nullopt);
  }
  // The first key shares with none; numbers have three bytes at most.
  EXPECT_EQ(MeasureBlock("\x01\x01x", 1, &longest), std::nullopt);
  EXPECT_EQ(MeasureBlock(std::string("\0\x81\x80\x80\0x", 6), 1, &longest),
            std::nullopt);
}

TEST_F(PackedKeysTest, NeighboursTakeWhatTheyDifferIn) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i)
    keys.push_back(absl::StrCat("some/long/path/of/images/", 10000 + i));
  EXPECT_LT(Pack(keys).bytes.size(), 5 * keys.size());
}

TEST_F(PackedKeysTest, KeysThatAreTooLongAreRefused) {
  KeyPacker packer;
  EXPECT_EQ(packer.Add(std::string(kLongestKey + 1, 'k'), memory_).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(PackedKeysTest, CountsItsMemory) {
  base::MemoryBudget budget(1 << 16);
  base::WorkingMemory memory(&budget, "a test");
  KeyPacker packer;
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i)
    status = packer.Add(absl::StrCat(i, std::string(4000, 'k')), memory);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(PackedKeysTest, MalformedKeysEnd) {
  for (const std::string_view packed :
       {std::string_view("\x01\x01k", 3), std::string_view("\x00", 1),
        std::string_view("\x00\x02k", 3),
        std::string_view("\x80\x80\x80\x00", 4),
        std::string_view("\x00\x81\x80\x04", 4)}) {
    KeyReader reader(packed);
    EXPECT_FALSE(reader.Next()) << packed.size();
  }
}

}  // namespace
}  // namespace forebay::dataset::records
