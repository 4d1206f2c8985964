#include "server/session/dataset_description.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::session {
namespace {

proto::ReaderOpened WithWarnings(const std::vector<std::string>& warnings) {
  proto::ReaderOpened opened;
  AddWarnings(warnings, opened);
  return opened;
}

TEST_CASE("The warnings of a dataset description keep their order",
          "[session][dataset_description]") {
  const proto::ReaderOpened opened = WithWarnings({"one", "", "caf\xe9"});
  REQUIRE(opened.warnings_size() == 3);
  CHECK(opened.warnings(0) == "one");
  CHECK_THAT(opened.warnings(1), Catch::Equals(""));
  CHECK(opened.warnings(2) == "caf\xe9");
}

TEST_CASE(
    "A dataset description has only as many warnings as a message has room for",
    "[session][dataset_description]") {
  CHECK(WithWarnings(std::vector<std::string>(9, "x")).warnings_size() == 8);
  const std::string large(2000, 'x');
  CHECK(WithWarnings({large, large, large, "x"}).warnings_size() == 2);
  CHECK(WithWarnings({std::string(4097, 'x')}).warnings_size() == 0);
  CHECK(WithWarnings({std::string(4096, 'x'), "x"}).warnings_size() == 1);
}

}  // namespace
}  // namespace forebay::session
