#include "server/dataset/npz/row_memory.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::npz {
namespace {

TEST(RowMemoryTest, PutsRowsOfAllColumnsSideBySide) {
  RowMemory memory(base::AmpleBudget());
  const std::vector<std::uint8_t> one = {1, 2, 3, 4};
  const std::vector<std::uint8_t> other = {5, 6};
  const std::vector<Column> columns = {{one.data(), 2}, {other.data(), 1}};
  ASSERT_TRUE(memory.Append(columns, 2).ok());
  const auto sealed = memory.Seal();
  ASSERT_TRUE(sealed.ok()) << sealed.status();
  const auto bytes = (*sealed)->bytes();
  EXPECT_EQ(std::vector<std::uint8_t>(bytes.begin(), bytes.end()),
            (std::vector<std::uint8_t>{1, 2, 5, 3, 4, 6}));
}

// They are there once.
TEST(RowMemoryTest, NeedsRoomForTheRowsAlone) {
  constexpr std::uint64_t kBytes = std::uint64_t{6} << 20;
  base::MemoryBudget budget(kBytes + (std::uint64_t{3} << 20));
  const std::vector<std::uint8_t> rows(kBytes, 7);
  RowMemory memory(&budget);
  ASSERT_TRUE(memory.Append({{rows.data(), 1024}}, kBytes / 1024).ok());
  const auto sealed = memory.Seal();
  ASSERT_TRUE(sealed.ok()) << sealed.status();
  EXPECT_EQ((*sealed)->bytes().size(), kBytes);
  EXPECT_GE(budget.used(), kBytes);
}

// Arrays of the shape (0, 2**62), whose rows have 2**64 bytes together.
TEST(RowMemoryTest, RowsThatAreNoneMayBeOfAnyLength) {
  RowMemory memory(base::AmpleBudget());
  const std::vector<Column> columns(4, {nullptr, std::uint64_t{1} << 62});
  EXPECT_TRUE(memory.Append(columns, 0).ok());
}

}  // namespace
}  // namespace forebay::dataset::npz
