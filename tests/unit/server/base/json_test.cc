#include "server/base/json.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using tests::HasCode;
using tests::IsOk;

// Returns a JSON text whose arrays and objects are `depth` deep.
std::string Nested(int depth) {
  return R"({"a": )" + std::string(depth - 1, '[') + "1" +
         std::string(depth - 1, ']') + "}";
}

std::string ErrorOf(std::string_view text) {
  const auto parsed = ParseJsonObject(text);
  if (parsed.ok()) return "accepted";
  CHECK_THAT(parsed, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(parsed.status().message());
}

TEST_CASE("The JSON parser parses an object", "[base][json]") {
  const auto parsed =
      ParseJsonObject("\xef\xbb\xbf {\"a\": [1, {\"b\": null}]}\n");
  REQUIRE_THAT(parsed, IsOk());
  CHECK(parsed->dump() == R"({"a":[1,{"b":null}]})");
}

TEST_CASE("The JSON parser refuses what is not an object", "[base][json]") {
  for (const char* text : {"", " ", "{", "[]", "null", "1", "\"{}\"", "{} {}",
                           "{\"a\": 1e999}", "{\"a\": \"\xff\"}", "[{}"}) {
    CAPTURE(text);
    CHECK(ErrorOf(text) == "is not a JSON object");
  }
}

TEST_CASE("The JSON parser refuses what nests deep", "[base][json]") {
  CHECK(ErrorOf(Nested(kMaxJsonDepth)) == "accepted");
  CHECK(ErrorOf(Nested(kMaxJsonDepth + 1)) == "is nested more than 64 deep");
  CHECK(ErrorOf(Nested(1'000'000)) == "is nested more than 64 deep");
  // The parser refuses the depth first, even if the text after it is not JSON.
  CHECK(ErrorOf(std::string(1'000'000, '[')) == "is nested more than 64 deep");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += R"({"a": )";
  CHECK(ErrorOf(objects) == "is nested more than 64 deep");
}

TEST_CASE("The JSON parser tells of each part of an object", "[base][json]") {
  class Keys final : public JsonEvents {
   public:
    bool key(std::string& name) override {
      keys.push_back(std::to_string(depth()) + name);
      return true;
    }
    std::vector<std::string> keys;
  };
  Keys keys;
  REQUIRE_THAT(
      ReadJsonObject(R"({"a": {"b": 1}, "c": [{"d": 2}], "e": 3})", &keys),
      IsOk());
  CHECK(keys.keys == std::vector<std::string>{"1a", "2b", "1c", "3d", "1e"});
  CHECK(keys.depth() == 0);
}

}  // namespace
}  // namespace forebay::base
