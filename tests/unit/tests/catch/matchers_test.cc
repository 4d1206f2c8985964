#include "tests/catch/matchers.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/catch/catch.h"

namespace forebay::tests {
namespace {

using Numbers = std::vector<int>;

TEST_CASE("Matchers of statuses tell success and codes apart",
          "[catch][matchers]") {
  const absl::Status lost = absl::NotFoundError("it");
  const absl::StatusOr<int> lost_number = lost;
  const absl::StatusOr<int> number = 1;
  CHECK(IsOk().match(absl::OkStatus()));
  CHECK(IsOk().match(number));
  CHECK_FALSE(IsOk().match(lost));
  CHECK_FALSE(IsOk().match(lost_number));
  CHECK(HasCode(absl::StatusCode::kNotFound).match(lost));
  CHECK(HasCode(absl::StatusCode::kNotFound).match(lost_number));
  CHECK_FALSE(HasCode(absl::StatusCode::kInternal).match(lost));
  CHECK_FALSE(HasCode(absl::StatusCode::kNotFound).match(number));
}

TEST_CASE("Matchers of texts look where they say", "[catch][matchers]") {
  const std::string text = "abc";
  CHECK(Contains("bc").match(text));
  CHECK_FALSE(Contains("ac").match(text));
  CHECK(StartsWith("ab").match(text));
  CHECK_FALSE(StartsWith("bc").match(text));
  CHECK_FALSE(StartsWith("abcd").match(text));
  CHECK(EndsWith("bc").match(text));
  CHECK_FALSE(EndsWith("ab").match(text));
  CHECK_FALSE(EndsWith("0abc").match(text));
  CHECK(MatchesRegex("a.c").match(text));
  CHECK_FALSE(MatchesRegex("a.").match(text));
  CHECK_FALSE(MatchesRegex(".c").match(text));
  CHECK_THROWS(MatchesRegex(".*").match(std::string(10'000, 'a')));
}

TEST_CASE("Matchers of texts see null bytes of a literal",
          "[catch][matchers]") {
  const std::string text("a\0b", 3);
  CHECK(Contains("\0b").match(text));
  CHECK_FALSE(Contains("\0c").match(text));
  CHECK(StartsWith("a\0").match(text));
  CHECK_FALSE(StartsWith("\0a").match(text));
  CHECK(EndsWith("\0b").match(text));
  CHECK_FALSE(EndsWith("\0c").match(text));
}

TEST_CASE("Matchers compare integers by their values whatever their signs",
          "[catch][matchers]") {
  CHECK_FALSE(Ge(std::size_t{0}).match(-1));
  CHECK_FALSE(Le(-1).match(std::size_t{0}));
  CHECK(Le(std::size_t{0}).match(-1));
  CHECK_FALSE(Contains(-1).match(std::vector<unsigned>{4294967295U}));
  CHECK(SizeIs(Ge(-1)).match(Numbers{1, 2}));
}

TEST_CASE("A failed assertion prints what it compares", "[catch]") {
  CHECK(Catch::Detail::stringify(absl::StatusOr<int>(3)) == "OK, 3");
  CHECK_THAT(
      Catch::Detail::stringify(absl::StatusOr<int>(absl::NotFoundError("it"))),
      Contains("NOT_FOUND: it"));
  CHECK(Catch::Detail::stringify(absl::string_view("")) == "\"\"");
  CHECK(Catch::Detail::stringify(std::vector<std::uint8_t>{1, 200}) ==
        "{ 01 c8 }");
  CHECK_THAT(Catch::Detail::stringify(std::vector<std::uint8_t>(1'000'000)),
             EndsWith(" ... of 1000000 bytes }"));
  CHECK(Catch::Detail::stringify(1e-12) != Catch::Detail::stringify(2e-12));
}

TEST_CASE("Matchers of ranges look at each element and at the size",
          "[catch][matchers]") {
  CHECK(Contains(2).match(Numbers{1, 2}));
  CHECK_FALSE(Contains(3).match(Numbers{1, 2}));
  CHECK(Contains(Ge(2)).match(Numbers{1, 2}));
  CHECK_FALSE(Contains(Ge(3)).match(Numbers{1, 2}));
  CHECK(IsEmpty().match(Numbers{}));
  CHECK_FALSE(IsEmpty().match(Numbers{1}));
  CHECK(SizeIs(2).match(Numbers{1, 2}));
  CHECK_FALSE(SizeIs(2).match(Numbers{1}));
  CHECK_FALSE(SizeIs(Ge(2)).match(Numbers{1}));
  CHECK(Each(Le(2)).match(Numbers{1, 2}));
  CHECK_FALSE(Each(Le(2)).match(Numbers{1, 3}));
}

TEST_CASE("ElementsAre minds the order and both ends", "[catch][matchers]") {
  const auto matcher = ElementsAre(1, Ge(2));
  CHECK(matcher.match(Numbers{1, 2}));
  CHECK_FALSE(matcher.match(Numbers{2, 1}));
  CHECK_FALSE(matcher.match(Numbers{1}));
  CHECK_FALSE(matcher.match(Numbers{1, 2, 3}));
}

TEST_CASE("UnorderedElementsAre minds how often an element comes",
          "[catch][matchers]") {
  const auto matcher = UnorderedElementsAre(1, 2, 2);
  CHECK(matcher.match(Numbers{2, 1, 2}));
  CHECK_FALSE(matcher.match(Numbers{1, 1, 2}));
  CHECK_FALSE(matcher.match(Numbers{1, 2}));
  CHECK_FALSE(matcher.match(Numbers{1, 2, 2, 2}));
  CHECK_FALSE(UnorderedElementsAreArray(Numbers{1}).match(Numbers{}));
}

TEST_CASE("Matchers of pairs and pointers look at what these hold",
          "[catch][matchers]") {
  const std::pair<int, std::string> pair(1, "a");
  CHECK(Pair(1, "a").match(pair));
  CHECK_FALSE(Pair(2, "a").match(pair));
  CHECK_FALSE(Pair(1, StartsWith("b")).match(pair));
  CHECK(Key(1).match(pair));
  CHECK_FALSE(Key(2).match(pair));
  CHECK(Pointee(3).match(std::make_unique<int>(3)));
  CHECK_FALSE(Pointee(3).match(std::make_unique<int>(4)));
  CHECK_FALSE(Pointee(3).match(std::unique_ptr<int>()));
  CHECK_FALSE(Pointee(3).match(std::optional<int>()));
}

TEST_CASE("Bounds hold at themselves and logic is that of the words",
          "[catch][matchers]") {
  CHECK(Ge(2).match(2));
  CHECK_FALSE(Ge(2).match(1));
  CHECK(Le(2).match(2));
  CHECK_FALSE(Le(2).match(3));
  CHECK(Not(Ge(2)).match(1));
  CHECK_FALSE(Not(Ge(2)).match(2));
  CHECK(AllOf(Ge(1), Le(2)).match(2));
  CHECK_FALSE(AllOf(Ge(1), Le(2)).match(3));
  CHECK_FALSE(AllOf(Ge(1), Le(2)).match(0));
  CHECK(Contains(Pair(1, Not(Ge(2)))).match(std::map<int, int>{{1, 1}}));
  CHECK_FALSE(Contains(Pair(1, Not(Ge(2)))).match(std::map<int, int>{{1, 2}}));
}

}  // namespace
}  // namespace forebay::tests
