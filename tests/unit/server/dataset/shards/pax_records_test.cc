#include "server/dataset/shards/pax_records.h"

#include <string>
#include <string_view>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/shards/golden_shards.h"

namespace forebay::dataset::shards {
namespace {

using tests::HasCode;
using tests::IsOk;

absl::StatusOr<PaxRecords> Parse(std::string_view text) {
  return ParsePaxRecords(AsBytes(text));
}

TEST_CASE("The parser of pax records finds the records that it knows",
          "[shards][pax_records]") {
  const auto records = Parse(
      "10 path=a\n30 mtime=1600000000.500000000\n11 path=b\xff\n"
      "14 size=12345\n11 weird==\n");
  REQUIRE_THAT(records, IsOk());
  CHECK(records->path == "b\xff");
  CHECK(records->size == 12345u);
  CHECK_FALSE(records->sparse);
}

TEST_CASE("The parser of pax records accepts data without records",
          "[shards][pax_records]") {
  for (const std::string& none : {std::string(), std::string(100, '\0')}) {
    const auto records = Parse(none);
    REQUIRE_THAT(records, IsOk());
    CHECK_FALSE((records->path.has_value() || records->size.has_value()));
  }
}

TEST_CASE("An empty value in pax records takes an earlier value back",
          "[shards][pax_records]") {
  const auto records = Parse("9 path=a\n8 path=\n9 size=1\n8 size=\n");
  REQUIRE_THAT(records, IsOk());
  CHECK_FALSE((records->path.has_value() || records->size.has_value()));
}

TEST_CASE("Newlines and equal signs are allowed in the values of pax records",
          "[shards][pax_records]") {
  const auto records = Parse("15 path=a=\nb=c\n");
  REQUIRE_THAT(records, IsOk());
  CHECK(records->path == "a=\nb=c");
}

TEST_CASE("The parser of pax records recognises sparse files",
          "[shards][pax_records]") {
  const auto records = Parse("22 GNU.sparse.major=1\n");
  REQUIRE_THAT(records, IsOk());
  CHECK(records->sparse);
}

TEST_CASE("The parser of pax records refuses malformed records",
          "[shards][pax_records]") {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text :
       {"9 path=a"sv, "8 path=a\n"sv, "11 path=a\n"sv, "path=a\n"sv,
        "-9 path=a\n"sv, " 9 path=a\n"sv, "0 path=a\n"sv, "4 =\n"sv,
        "6 =a\n "sv, "6 abc\n"sv, "99999999999999999999 path=a\n"sv,
        "18446744073709551615 a=b\n"sv, "10 size=-1\n"sv, "10 size=1x\n"sv,
        "29 size=99999999999999999999\n"sv, "11 path=a\0b\n"sv,
        "9 path=a\n9 path=b"sv, "3\n"sv, "1 \n"sv}) {
    CAPTURE(text);
    CHECK_THAT(Parse(text), HasCode(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace forebay::dataset::shards
