#include "server/dataset/object_listing.h"

#include <stop_token>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/dataset/fake_lister.h"

namespace forebay::dataset {
namespace {

TEST(ObjectListingTest, EndsWhereAnObjectIsRefused) {
  FakeLister lister;
  for (const char* const name : {"a", "b", "c"}) lister.Put(name);
  std::vector<std::string> names;
  const auto take = [&](const storage::ListedObject& object) {
    names.push_back(object.name);
    return object.name == "b" ? absl::ResourceExhaustedError("full")
                              : absl::OkStatus();
  };
  // That error is returned, whatever the list returns.
  lister.status = absl::CancelledError("stopped");
  EXPECT_EQ(TakeObjects(lister, *lister.root(), {}, take),
            absl::ResourceExhaustedError("full"));
  EXPECT_THAT(names, testing::ElementsAre("a", "b"));
  lister.Remove("b");
  EXPECT_EQ(TakeObjects(lister, *lister.root(), {}, take), lister.status);
}

TEST(ObjectListingTest, Stops) {
  FakeLister lister;
  std::stop_source stop;
  lister.on_list = [&] { stop.request_stop(); };
  EXPECT_TRUE(absl::IsCancelled(TakeObjects(
      lister, *lister.root(), stop.get_token(),
      [](const storage::ListedObject&) { return absl::OkStatus(); })));
}

}  // namespace
}  // namespace forebay::dataset
