#include "server/dataset/npz/row_memory.h"

#include <cstdint>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::npz {
namespace {

using tests::IsOk;

TEST_CASE("The row memory puts rows of all columns side by side",
          "[npz][row_memory]") {
  RowMemory memory(base::AmpleBudget());
  const std::vector<std::uint8_t> one = {1, 2, 3, 4};
  const std::vector<std::uint8_t> other = {5, 6};
  const std::vector<RowColumn> columns = {{one.data(), 2}, {other.data(), 1}};
  REQUIRE_THAT(memory.Append(columns, 2), IsOk());
  const auto sealed = memory.Seal();
  REQUIRE_THAT(sealed, IsOk());
  const auto bytes = (*sealed)->bytes();
  CHECK(std::vector<std::uint8_t>(bytes.begin(), bytes.end()) ==
        std::vector<std::uint8_t>{1, 2, 5, 3, 4, 6});
}

// The budget is enough for the rows once, but not for a copy.
TEST_CASE("The row memory needs room for the rows alone", "[npz][row_memory]") {
  constexpr std::uint64_t kBytes = std::uint64_t{6} << 20;
  base::MemoryBudget budget(kBytes + (std::uint64_t{3} << 20));
  const std::vector<std::uint8_t> rows(kBytes, 7);
  RowMemory memory(&budget);
  REQUIRE_THAT(memory.Append({{rows.data(), 1024}}, kBytes / 1024), IsOk());
  const auto sealed = memory.Seal();
  REQUIRE_THAT(sealed, IsOk());
  CHECK((*sealed)->bytes().size() == kBytes);
  CHECK(budget.used() >= kBytes);
}

// The arrays have the shape (0, 2**62), so one row of all columns has 2**64
// bytes.
TEST_CASE(
    "The row memory accepts columns without rows whatever the length of a row",
    "[npz][row_memory]") {
  RowMemory memory(base::AmpleBudget());
  const std::vector<RowColumn> columns(4, {nullptr, std::uint64_t{1} << 62});
  CHECK_THAT(memory.Append(columns, 0), IsOk());
}

}  // namespace
}  // namespace forebay::dataset::npz
