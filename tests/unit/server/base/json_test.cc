#include "server/base/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forebay::base {
namespace {

// An object that is `depth` deep.
std::string Nested(int depth) {
  return R"({"a": )" + std::string(depth - 1, '[') + "1" +
         std::string(depth - 1, ']') + "}";
}

std::string ErrorOf(std::string_view text) {
  const auto parsed = ParseJsonObject(text);
  if (parsed.ok()) return "accepted";
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(parsed.status().message());
}

TEST(JsonTest, ParsesAnObject) {
  const auto parsed =
      ParseJsonObject("\xef\xbb\xbf {\"a\": [1, {\"b\": null}]}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->dump(), R"({"a":[1,{"b":null}]})");
}

TEST(JsonTest, RefusesWhatIsNoObject) {
  for (const char* text : {"", " ", "{", "[]", "null", "1", "\"{}\"", "{} {}",
                           "{\"a\": 1e999}", "{\"a\": \"\xff\"}", "[{}"}) {
    EXPECT_EQ(ErrorOf(text), "is no JSON object") << text;
  }
}

TEST(JsonTest, RefusesWhatNestsDeep) {
  EXPECT_EQ(ErrorOf(Nested(kMaxJsonDepth)), "accepted");
  EXPECT_EQ(ErrorOf(Nested(kMaxJsonDepth + 1)), "is nested more than 64 deep");
  EXPECT_EQ(ErrorOf(Nested(1'000'000)), "is nested more than 64 deep");
  // Also what would be no JSON behind that.
  EXPECT_EQ(ErrorOf(std::string(1'000'000, '[')),
            "is nested more than 64 deep");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += R"({"a": )";
  EXPECT_EQ(ErrorOf(objects), "is nested more than 64 deep");
}

TEST(JsonTest, TellsOfEachPart) {
  class Keys final : public JsonEvents {
   public:
    bool key(std::string& name) override {
      keys.push_back(std::to_string(depth()) + name);
      return true;
    }
    std::vector<std::string> keys;
  };
  Keys keys;
  ASSERT_TRUE(
      ReadJsonObject(R"({"a": {"b": 1}, "c": [{"d": 2}], "e": 3})", &keys)
          .ok());
  EXPECT_EQ(keys.keys,
            (std::vector<std::string>{"1a", "2b", "1c", "3d", "1e"}));
  EXPECT_EQ(keys.depth(), 0);
}

}  // namespace
}  // namespace forebay::base
