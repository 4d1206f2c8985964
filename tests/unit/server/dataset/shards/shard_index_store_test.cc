#include "server/dataset/shards/shard_index_store.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::shards {
namespace {

using testing::HasSubstr;

class ShardIndexStoreTest : public testing::Test {
 protected:
  static FieldChoice Fields(const std::vector<std::string>& fields) {
    return *FieldChoice::Create(fields);
  }

  std::shared_ptr<const ShardIndex> Index() const {
    base::WorkingMemory memory(base::AmpleBudget(), "an index");
    ShardSamples samples;
    EXPECT_TRUE(Pack(shards_[0], fields_, "1", {{{512, 1, 0}}}, &samples).ok());
    auto index = BuildShardIndex(fields_, shards_, {samples, {}}, memory);
    EXPECT_TRUE(index.ok()) << index.status();
    return *std::move(index);
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(tree_.path() + "/indexes")) {
      files.push_back(entry.path());
    }
    return files;
  }

  ScratchTree tree_;
  const ShardIndexStore store_ =
      ShardIndexStore(tree_.path() + "/indexes", base::AmpleBudget());
  const FieldChoice fields_ = Fields({"jpg"});
  const std::vector<Shard> shards_ = {{"0.tar", {4096, 1}},
                                      {"1.tar", {1024, 2}}};
};

TEST_F(ShardIndexStoreTest, KeepsAndReplaces) {
  EXPECT_EQ(store_.Load("data", fields_, shards_).status().code(),
            absl::StatusCode::kNotFound);
  for (int i = 0; i < 2; ++i) {
    const absl::Status saved = store_.Save("data", *Index());
    ASSERT_TRUE(saved.ok()) << saved;
    const auto index = store_.Load("data", fields_, shards_);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ((*index)->version(), Index()->version());
  }
  EXPECT_EQ(Files().size(), 1u);
  EXPECT_EQ(store_.Load("other data", fields_, shards_).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.Load("data", Fields({"png"}), shards_).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ShardIndexStoreTest, ChangedShardsAreOthers) {
  ASSERT_TRUE(store_.Save("data", *Index()).ok());
  std::vector<std::vector<Shard>> others(4, shards_);
  others[0][1].version.stamp = 3;
  others[1][1].version.size = 2048;
  others[2].pop_back();
  std::swap(others[3][0], others[3][1]);
  for (const std::vector<Shard>& shards : others) {
    EXPECT_EQ(store_.Load("data", fields_, shards).status().code(),
              absl::StatusCode::kNotFound);
  }
  EXPECT_TRUE(store_.Load("data", fields_, shards_).ok());
}

TEST_F(ShardIndexStoreTest, NamesDamagedFiles) {
  ASSERT_TRUE(store_.Save("data", *Index()).ok());
  const std::string file = Files().at(0);
  for (const char* content : {"", "nonsense"}) {
    std::ofstream(file, std::ios::binary) << content;
    const absl::Status status = store_.Load("data", fields_, shards_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(file));
  }
}

}  // namespace
}  // namespace forebay::dataset::shards
