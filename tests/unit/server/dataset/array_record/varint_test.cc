#include "server/dataset/array_record/varint.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/unit/server/dataset/array_record/array_record_writer.h"
#include "tests/unit/server/dataset/array_record/golden_files.h"

namespace forebay::dataset::array_record {
namespace {

TEST_CASE("The varint reader takes numbers of any length",
          "[array_record][varint]") {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t number :
         {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1,
          UINT64_MAX >> bit}) {
      const std::string text = Varint(number);
      CAPTURE(number);
      CHECK(VarintBytes(number) == text.size());
      const std::string more = text + "more";
      absl::Span<const std::uint8_t> bytes = AsBytes(more);
      CHECK(TakeVarint(&bytes) == number);
      CHECK(AsText(bytes) == "more");
      bytes = AsBytes(text).first(text.size() - 1);
      CHECK(TakeVarint(&bytes) == std::nullopt);
      CHECK(bytes.size() == text.size() - 1);
    }
  }
}

TEST_CASE("The varint reader refuses numbers of more than 64 bits",
          "[array_record][varint]") {
  const std::string nine(9, '\xff');
  for (const char* const last : {"\x02", "\x7f", "\x81\x01", "\xff\xff\xff"}) {
    const std::string text = nine + last;
    absl::Span<const std::uint8_t> bytes = AsBytes(text);
    CHECK(TakeVarint(&bytes) == std::nullopt);
  }
  // Redundant zero bytes at the end do not change the number.
  const std::string padded("\x81\x80\x00", 3);
  absl::Span<const std::uint8_t> bytes = AsBytes(padded);
  CHECK(TakeVarint(&bytes) == 1);
  CHECK(bytes.empty());
}

}  // namespace
}  // namespace forebay::dataset::array_record
