#include "server/dataset/records/packed_keys.h"

#include <string>
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
    EXPECT_EQ(reader.left(), 0u);
  }
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
