#include "server/admin/valid_utf8.h"

#include "tests/catch/catch.h"

namespace forebay::admin {
namespace {

TEST_CASE("The conversion to valid UTF-8 replaces bad bytes",
          "[admin][valid_utf8]") {
  CHECK(ValidUtf8("plain, \xC3\xA4, \xE2\x82\xAC, \xF0\x9F\x98\x80") ==
        "plain, \xC3\xA4, \xE2\x82\xAC, \xF0\x9F\x98\x80");
  CHECK(ValidUtf8("\xC3") == "?");                 // cut off
  CHECK(ValidUtf8("\xC0\xAF") == "??");            // overlong
  CHECK(ValidUtf8("\xED\xA0\x80") == "???");       // a surrogate
  CHECK(ValidUtf8("\xF4\x90\x80\x80") == "????");  // above U+10FFFF
  CHECK(ValidUtf8("\xFF"
                  "a\x80") == "?a?");
}

}  // namespace
}  // namespace forebay::admin
