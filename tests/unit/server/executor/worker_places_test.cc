#include "server/executor/worker_places.h"

#include <gtest/gtest.h>

namespace forebay::executor {
namespace {

TEST(WorkerPlacesTest, NumbersShortTasksFromBelowAndLongOnesFromAbove) {
  WorkerPlaces places(2);
  EXPECT_EQ(places.Take(kShort), 0);
  EXPECT_EQ(places.Take(kLong), 3);
  EXPECT_EQ(places.Take(kShort), 1);
  EXPECT_EQ(places.Take(kLong), 2);
  EXPECT_FALSE(places.HasPlace(kShort));
  EXPECT_FALSE(places.HasPlace(kLong));
  EXPECT_EQ(places.running(), 4);
  places.GiveBack(3);
  EXPECT_TRUE(places.HasPlace(kLong));
  EXPECT_FALSE(places.HasPlace(kShort));
  EXPECT_EQ(places.Take(kLong), 3);
  places.GiveBack(0);
  EXPECT_EQ(places.running(kShort), 1);
  EXPECT_EQ(places.Take(kShort), 0);
}

TEST(WorkerPlacesTest, ATaskThatTurnsOutLongKeepsItsNumber) {
  WorkerPlaces places(2);
  EXPECT_EQ(places.Take(kShort), 0);
  EXPECT_EQ(places.Take(kShort), 1);
  EXPECT_EQ(places.Take(kLong), 3);
  places.MakeLong(0);
  EXPECT_EQ(places.running(kShort), 1);
  EXPECT_EQ(places.running(kLong), 2);
  EXPECT_EQ(places.Take(kShort), 2);
  places.GiveBack(0);
  EXPECT_TRUE(places.HasPlace(kLong));
  EXPECT_EQ(places.Take(kLong), 0);
}

}  // namespace
}  // namespace forebay::executor
