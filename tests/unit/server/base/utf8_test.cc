#include "server/base/utf8.h"

#include <string_view>

#include "absl/strings/escaping.h"
#include "tests/catch/catch.h"

namespace forebay::base {
namespace {

TEST_CASE("The UTF-8 check tells the length of the first character",
          "[base][utf8]") {
  CHECK(Utf8Length(std::string_view("\0x", 2)) == 1);
  CHECK(Utf8Length("\x7f") == 1);
  CHECK(Utf8Length("\xc2\x80") == 2);
  CHECK(Utf8Length("\xdf\xbf!") == 2);
  CHECK(Utf8Length("\xe0\xa0\x80") == 3);
  CHECK(Utf8Length("\xed\x9f\xbf") == 3);
  CHECK(Utf8Length("\xee\x80\x80") == 3);
  CHECK(Utf8Length("\xf0\x90\x80\x80") == 4);
  CHECK(Utf8Length("\xf4\x8f\xbf\xbf!") == 4);
}

TEST_CASE("The UTF-8 check finds characters malformed", "[base][utf8]") {
  for (const std::string_view text : {
           "\x80", "\xbf", "\xff", "\xf5\x80\x80\x80",  // an invalid first byte
           "\xc3", "\xe2\x82", "\xf0\x9f\x98",          // cut short
           "\xc3(", "\xe2(\xac", "\xe2\x82(", "\xf0\x9f\x98(", "\xc0\x80",
           "\xc1\xbf", "\xe0\x9f\xbf",                          // overlong
           "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",  // surrogates
           "\xf4\x90\x80\x80",  // above U+10FFFF
       }) {
    CAPTURE(absl::CHexEscape(std::string(text)));
    CHECK(Utf8Length(text) == 0);
  }
}

}  // namespace
}  // namespace forebay::base
