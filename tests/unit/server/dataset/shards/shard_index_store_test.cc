#include "server/dataset/shards/shard_index_store.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::shards {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

class ShardIndexStoreTest {
 protected:
  static FieldChoice Fields(const std::vector<std::string>& fields) {
    return *FieldChoice::Create(fields);
  }

  std::shared_ptr<const ShardIndex> Index() const {
    base::WorkingMemory memory(base::AmpleBudget(), "an index");
    ShardSamples samples;
    CHECK_THAT(Pack(shards_[0], fields_, "1", {{{512, 1, 0}}}, &samples),
               IsOk());
    auto index = BuildShardIndex(fields_, shards_, {samples, {}}, memory);
    CHECK_THAT(index, IsOk());
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

TEST_CASE_METHOD(ShardIndexStoreTest,
                 "The shard index store keeps and replaces an index",
                 "[shards][shard_index_store]") {
  CHECK_THAT(store_.Load("data", fields_, shards_),
             HasCode(absl::StatusCode::kNotFound));
  for (int i = 0; i < 2; ++i) {
    const absl::Status saved = store_.Save("data", *Index());
    REQUIRE_THAT(saved, IsOk());
    const auto index = store_.Load("data", fields_, shards_);
    REQUIRE_THAT(index, IsOk());
    CHECK((*index)->version() == Index()->version());
  }
  CHECK(Files().size() == 1u);
  CHECK_THAT(store_.Load("other data", fields_, shards_),
             HasCode(absl::StatusCode::kNotFound));
  CHECK_THAT(store_.Load("data", Fields({"png"}), shards_),
             HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE_METHOD(
    ShardIndexStoreTest,
    "The shard index store does not find the index of shards that changed",
    "[shards][shard_index_store]") {
  REQUIRE_THAT(store_.Save("data", *Index()), IsOk());
  std::vector<std::vector<Shard>> others(4, shards_);
  others[0][1].version.stamp = 3;
  others[1][1].version.size = 2048;
  others[2].pop_back();
  std::swap(others[3][0], others[3][1]);
  for (const std::vector<Shard>& shards : others) {
    CHECK_THAT(store_.Load("data", fields_, shards),
               HasCode(absl::StatusCode::kNotFound));
  }
  CHECK_THAT(store_.Load("data", fields_, shards_), IsOk());
}

TEST_CASE_METHOD(ShardIndexStoreTest,
                 "The shard index store names damaged files",
                 "[shards][shard_index_store]") {
  REQUIRE_THAT(store_.Save("data", *Index()), IsOk());
  const std::string file = Files().at(0);
  for (const char* content : {"", "nonsense"}) {
    std::ofstream(file, std::ios::binary) << content;
    const absl::Status status = store_.Load("data", fields_, shards_).status();
    CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
    CHECK_THAT(status.message(), Contains(file));
  }
}

}  // namespace
}  // namespace forebay::dataset::shards
