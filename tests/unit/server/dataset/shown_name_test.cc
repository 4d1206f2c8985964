#include "server/dataset/shown_name.h"

#include <string>

#include "tests/catch/catch.h"

namespace forebay::dataset {
namespace {

TEST_CASE("A shown name escapes what ends a line or a message",
          "[dataset][shown_name]") {
  CHECK(ShownName("it's \"a\" caf\xc3\xa9") == "it's \"a\" caf\xc3\xa9");
  CHECK(ShownName(std::string("a\0b\n\x1b[31m\x7f", 10)) ==
        "a\\x00b\\x0a\\x1b[31m\\x7f");
  CHECK_THAT(ShownName(""), Catch::Equals(""));
}

TEST_CASE("A shown name shows the beginning of a long name",
          "[dataset][shown_name]") {
  CHECK(ShownName(std::string(256, 'x')) == std::string(256, 'x'));
  CHECK(ShownName(std::string(257, 'x')) == std::string(256, 'x') + "...");
}

}  // namespace
}  // namespace forebay::dataset
