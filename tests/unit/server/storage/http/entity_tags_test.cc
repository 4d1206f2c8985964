#include "server/storage/http/entity_tags.h"

#include <string>

#include "tests/catch/catch.h"

namespace forebay::storage::http {
namespace {

TEST_CASE("Entity tags are found by their stamps", "[http][entity_tags]") {
  EntityTags tags;
  tags.Add("a");
  tags.Add("9b2cf535f27731c974343645a3985328-17");
  CHECK(tags.Find(StampOfTag("a")) == "a");
  CHECK(tags.Find(StampOfTag("9b2cf535f27731c974343645a3985328-17")) ==
        "9b2cf535f27731c974343645a3985328-17");
  CHECK_THAT(tags.Find(StampOfTag("b")), Catch::Equals(""));
  CHECK_THAT(tags.Find(0), Catch::Equals(""));
  CHECK_THAT(tags.Find(-1), Catch::Equals(""));
}

TEST_CASE("A full table of entity tags forgets one tag for another",
          "[http][entity_tags]") {
  EntityTags tags(1);
  tags.Add("a");
  tags.Add("b");
  CHECK_THAT(tags.Find(StampOfTag("a")), Catch::Equals(""));
  CHECK(tags.Find(StampOfTag("b")) == "b");
  tags.Add(std::string(EntityTags::kMaxBytes + 1, 'c'));
  CHECK(tags.Find(StampOfTag("b")) == "b");
}

}  // namespace
}  // namespace forebay::storage::http
