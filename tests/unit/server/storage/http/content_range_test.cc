#include "server/storage/http/content_range.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::storage::http {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

HttpResponse Part(const std::string& content_range, std::uint64_t filled) {
  HttpResponse answer;
  answer.status = 206;
  answer.headers = {{"content-range", content_range}};
  answer.filled = filled;
  return answer;
}

TEST_CASE("A well-formed Content-Range is parsed", "[http][content_range]") {
  const auto range = ParseContentRange("bytes 5-9/100");
  REQUIRE(range.has_value());
  CHECK(range->first == 5);
  CHECK(range->last == 9);
  CHECK(range->object_size == 100);
  CHECK_FALSE(ParseContentRange("bytes 5-9/*")->object_size.has_value());
  CHECK(ParseContentRange("bytes 0-0/18446744073709551615")->object_size ==
        UINT64_MAX);
}

TEST_CASE("A malformed Content-Range is refused", "[http][content_range]") {
  for (const char* text :
       {"", "bytes", "bytes ", "bytes 5", "bytes 5-", "bytes 5-9", "bytes 5-9/",
        "bytes 9-5/100", "bytes 5-9/9", "bytes 5-9/100x", "bytes -5-9/100",
        "bytes 5 -9/100", "bytes */100", "bytes=5-9/100", "items 5-9/100",
        "bytes 0-0/18446744073709551616", "bytes +5-9/100", "bytes 5-9/**"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseContentRange(text).has_value());
  }
}

TEST_CASE("A Range header asks for the range that the answer is checked for",
          "[http][content_range]") {
  CHECK(RangeHeader({5, 5}) == "Range: bytes=5-9");
  CHECK_THAT(CheckRange(Part("bytes 5-9/100", 5), {5, 5}, 100), IsOk());
}

TEST_CASE("The check of an answer's range tells what is wrong",
          "[http][content_range]") {
  CHECK_THAT(CheckRange(Part("bytes 5-9/101", 5), {5, 5}, 100),
             HasCode(absl::StatusCode::kFailedPrecondition));
  for (const char* other : {"bytes 4-8/100", "bytes 5-8/100", "nonsense"})
    CHECK_THAT(CheckRange(Part(other, 5), {5, 5}, 100),
               HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(CheckRange(Part("bytes 5-9/100", 4), {5, 5}, 100),
             HasCode(absl::StatusCode::kDataLoss));
  HttpResponse longer = Part("bytes 5-9/100", 5);
  longer.failure = HttpFailure::kTooLong;
  CHECK_THAT(CheckRange(longer, {5, 5}, 100),
             HasCode(absl::StatusCode::kDataLoss));
  HttpResponse none = Part("bytes 5-9/100", 5);
  none.headers.clear();
  CHECK_THAT(CheckRange(none, {5, 5}, 100),
             HasCode(absl::StatusCode::kUnavailable));
  none.status = 204;
  CHECK_THAT(CheckRange(none, {5, 5}, 100),
             HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE("An answer with all of an object is good where all was asked for",
          "[http][content_range]") {
  HttpResponse all;
  all.status = 200;
  all.headers = {{"content-length", "5"}};
  all.filled = 5;
  CHECK_THAT(CheckRange(all, {0, 5}, 5), IsOk());
  CHECK_THAT(CheckRange(all, {0, 4}, 5),
             HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(CheckRange(all, {1, 5}, 6),
             HasCode(absl::StatusCode::kUnimplemented));
  CHECK_THAT(CheckRange(all, {0, 6}, 6),
             HasCode(absl::StatusCode::kFailedPrecondition));
  all.headers.clear();
  CHECK_THAT(CheckRange(all, {0, 5}, 5), IsOk());
  CHECK_THAT(CheckRange(all, {0, 6}, 6), HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE(
    "The check of an answer's range names the encoding that makes ranges "
    "impossible",
    "[http][content_range]") {
  HttpResponse all;
  all.status = 200;
  all.headers = {{"content-length", "3"}, {"content-encoding", "gzip"}};
  all.filled = 3;
  // Objects that are stored in compressed form are read without being
  // decompressed.
  CHECK_THAT(CheckRange(all, {0, 3}, 3), IsOk());
  for (const HttpRange range : {HttpRange{1, 2}, HttpRange{0, 5}}) {
    const absl::Status status = CheckRange(all, range, 5);
    CHECK_THAT(status, HasCode(absl::StatusCode::kUnimplemented));
    CHECK_THAT(status.message(), Contains("Content-Encoding: gzip"));
  }
  all.headers.erase(all.headers.begin());
  CHECK_THAT(CheckRange(all, {0, 5}, 5),
             HasCode(absl::StatusCode::kUnimplemented));
  all.failure = HttpFailure::kTooLong;
  all.filled = 2;
  CHECK_THAT(CheckRange(all, {0, 2}, 2),
             HasCode(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace forebay::storage::http
