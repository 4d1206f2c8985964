#include "server/executor/task_places.h"

#include "tests/catch/catch.h"

namespace forebay::executor {
namespace {

TEST_CASE(
    "Worker places number short tasks from below and long ones from above",
    "[executor][task_places]") {
  TaskPlaces places(2);
  CHECK(places.Take(kShort) == 0);
  CHECK(places.Take(kLong) == 5);
  CHECK(places.Take(kShort) == 1);
  CHECK(places.Take(kLong) == 4);
  CHECK_FALSE(places.HasPlace(kShort));
  CHECK_FALSE(places.HasPlace(kLong));
  CHECK(places.running() == 4);
  places.GiveBack(5);
  CHECK(places.HasPlace(kLong));
  CHECK_FALSE(places.HasPlace(kShort));
  CHECK(places.Take(kLong) == 5);
  places.GiveBack(0);
  CHECK(places.running(kShort) == 1);
  CHECK(places.Take(kShort) == 0);
}

TEST_CASE("A task that turns out long keeps its place number",
          "[executor][task_places]") {
  TaskPlaces places(2);
  CHECK(places.Take(kShort) == 0);
  CHECK(places.Take(kShort) == 1);
  CHECK(places.Take(kLong) == 5);
  places.MakeLong(0);
  CHECK(places.running(kShort) == 1);
  CHECK(places.running(kLong) == 2);
  CHECK(places.Take(kShort) == 2);
  places.GiveBack(0);
  CHECK(places.HasPlace(kLong));
  CHECK(places.Take(kLong) == 4);
}

TEST_CASE("More tasks may turn out long than may start as long ones",
          "[executor][task_places]") {
  TaskPlaces places(2);
  for (int i = 0; i < 2; ++i) places.Take(kLong);
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(places.HasPlace(kLong));
    REQUIRE(places.HasPlaceForLonger());
    places.MakeLong(places.Take(kShort));
  }
  CHECK_FALSE(places.HasPlaceForLonger());
  for (int i = 0; i < 2; ++i) places.Take(kShort);
  CHECK(places.running() == std::size_t{TaskPlaces::CountFor(2)});
}

}  // namespace
}  // namespace forebay::executor
