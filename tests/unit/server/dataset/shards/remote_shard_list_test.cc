#include "server/dataset/shards/remote_shard_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>
#include <string>
#include <vector>

#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_lister.h"

namespace forebay::dataset::shards {
namespace {

using ::testing::ElementsAre;

class RemoteShardListTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<std::string>> List(
      const std::vector<std::string>& patterns) {
    const auto shards =
        ListRemoteShards(lister_, *lister_.root(), patterns, memory_, {});
    if (!shards.ok()) return shards.status();
    std::vector<std::string> paths;
    for (const Shard& shard : *shards) {
      EXPECT_EQ(shard.version, *lister_.Stat(*lister_.root(), shard.path, {}));
      paths.push_back(shard.path);
    }
    return paths;
  }

  FakeLister lister_;
  base::WorkingMemory memory_{base::AmpleBudget(), "shards"};
};

TEST_F(RemoteShardListTest, NamedOnesComeInTheirOrder) {
  std::vector<std::string> expected;
  for (int i = 127; i >= 0; --i) {
    const std::string number = std::to_string(i);
    expected.push_back("a/" + std::string(3 - number.size(), '0') + number +
                       ".tar");
    lister_.Put(expected.back(), 512 * i + 1);
  }
  EXPECT_EQ(*List({"a/{127..000}.tar"}), expected);
  EXPECT_EQ(lister_.lists, 0);
}

TEST_F(RemoteShardListTest, PatternsAreMatchedAsPathsAre) {
  for (const char* name :
       {"b-10.tar", "b-9.tar", "b-1.tgz", ".b-2.tar", "sub/b-3.tar",
        "sub/deep/b-4.tar", "c-1.tar", "c-1.tar.idx"})
    lister_.Put(name);
  EXPECT_THAT(*List({"*.tar"}), ElementsAre("b-10.tar", "b-9.tar", "c-1.tar"));
  EXPECT_THAT(
      *List({"c-1.tar", "{sub,sub/deep}/*.tar", "b-?.tar"}),
      ElementsAre("c-1.tar", "sub/b-3.tar", "sub/deep/b-4.tar", "b-9.tar"));
  EXPECT_THAT(*List({"*/b-[0-9].tar"}), ElementsAre("sub/b-3.tar"));
  EXPECT_EQ(lister_.lists, 3);
}

TEST_F(RemoteShardListTest, SaysWhatIsMissing) {
  lister_.Put("a-1.tar");
  EXPECT_EQ(List({"a-{1..2}.tar"}).status(),
            absl::NotFoundError("a-2.tar: is not there"));
  EXPECT_EQ(List({"b*.tar"}).status(),
            absl::NotFoundError("b*.tar: no object fits this pattern"));
  EXPECT_EQ(List({"a-{1..2.tar"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  lister_.status = absl::UnavailableError("no connection");
  EXPECT_EQ(List({"*.tar"}).status(), lister_.status);
}

}  // namespace
}  // namespace forebay::dataset::shards
