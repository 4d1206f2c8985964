#include "server/executor/worker_places.h"

#include <gtest/gtest.h>

namespace forebay::executor {
namespace {

TEST(WorkerPlacesTest, NumbersShortTasksFromBelowAndLongOnesFromAbove) {
  WorkerPlaces places(2);
  EXPECT_EQ(places.Take(kShort), 0);
  EXPECT_EQ(places.Take(kLong), 5);
  EXPECT_EQ(places.Take(kShort), 1);
  EXPECT_EQ(places.Take(kLong), 4);
  EXPECT_FALSE(places.HasPlace(kShort));
  EXPECT_FALSE(places.HasPlace(kLong));
  EXPECT_EQ(places.running(), 4);
  places.GiveBack(5);
  EXPECT_TRUE(places.HasPlace(kLong));
  EXPECT_FALSE(places.HasPlace(kShort));
  EXPECT_EQ(places.Take(kLong), 5);
  places.GiveBack(0);
  EXPECT_EQ(places.running(kShort), 1);
  EXPECT_EQ(places.Take(kShort), 0);
}

TEST(WorkerPlacesTest, ATaskThatTurnsOutLongKeepsItsNumber) {
  WorkerPlaces places(2);
  EXPECT_EQ(places.Take(kShort), 0);
  EXPECT_EQ(places.Take(kShort), 1);
  EXPECT_EQ(places.Take(kLong), 5);
  places.MakeLong(0);
  EXPECT_EQ(places.running(kShort), 1);
  EXPECT_EQ(places.running(kLong), 2);
  EXPECT_EQ(places.Take(kShort), 2);
  places.GiveBack(0);
  EXPECT_TRUE(places.HasPlace(kLong));
  EXPECT_EQ(places.Take(kLong), 4);
}

TEST(WorkerPlacesTest, MoreTasksMayTurnOutLongThanMayStart) {
  WorkerPlaces places(2);
  for (int i = 0; i < 2; ++i) places.Take(kLong);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(places.HasPlace(kLong));
    ASSERT_TRUE(places.HasPlaceForLonger());
    places.MakeLong(places.Take(kShort));
  }
  EXPECT_FALSE(places.HasPlaceForLonger());
  for (int i = 0; i < 2; ++i) places.Take(kShort);
  EXPECT_EQ(places.running(), std::size_t{WorkerPlaces::CountFor(2)});
}

}  // namespace
}  // namespace forebay::executor
