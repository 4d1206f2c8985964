#include "server/dataset/array_record/varint.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"
#include "tests/unit/server/dataset/array_record/made_file.h"

namespace forebay::dataset::array_record {
namespace {

TEST(VarintTest, TakesNumbersOfAnyLength) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t number :
         {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1,
          UINT64_MAX >> bit}) {
      const std::string text = Varint(number);
      EXPECT_EQ(VarintBytes(number), text.size()) << number;
      const std::string more = text + "more";
      absl::Span<const std::uint8_t> bytes = AsBytes(more);
      EXPECT_EQ(TakeVarint(&bytes), number);
      EXPECT_EQ(AsText(bytes), "more");
      bytes = AsBytes(text).first(text.size() - 1);
      EXPECT_EQ(TakeVarint(&bytes), std::nullopt);
      EXPECT_EQ(bytes.size(), text.size() - 1);
    }
  }
}

TEST(VarintTest, RefusesNumbersOfMoreThan64Bits) {
  const std::string nine(9, '\xff');
  for (const char* const last : {"\x02", "\x7f", "\x81\x01", "\xff\xff\xff"}) {
    const std::string text = nine + last;
    absl::Span<const std::uint8_t> bytes = AsBytes(text);
    EXPECT_EQ(TakeVarint(&bytes), std::nullopt);
  }
  // Zeros in front are none of it.
  const std::string padded("\x81\x80\x00", 3);
  absl::Span<const std::uint8_t> bytes = AsBytes(padded);
  EXPECT_EQ(TakeVarint(&bytes), 1);
  EXPECT_TRUE(bytes.empty());
}

}  // namespace
}  // namespace forebay::dataset::array_record
