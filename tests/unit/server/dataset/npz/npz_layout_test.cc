#include "server/dataset/npz/npz_layout.h"

#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/npz/npz_rows.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/npz/golden_npz.h"

namespace forebay::dataset::npz {
namespace {

using testing::HasSubstr;

constexpr storage::Revision kIndexed = {.inode = 1, .ctime_nanos = 1};
constexpr storage::Revision kTouched = {.inode = 1, .ctime_nanos = 2};

// A file with an array in memory and another one that is read.
class NpzLayoutTest : public testing::Test {
 protected:
  NpzLayoutTest() {
    storage::ObjectVersion version = source_.Put("a.npz", content_);
    source_.Rewrite("a.npz", content_, kIndexed);
    version.revision = kIndexed;
    dataset_ = *LoadNpzRows({.root = source_.root(),
                             .names = {"y", "x"},
                             .source = &source_,
                             .budget = base::AmpleBudget(),
                             .least_stored = 100,
                             .stop = {}},
                            {{"a.npz", version}}, nullptr);
  }

  // The revision that another look finds.
  absl::StatusOr<storage::Revision> LookAgain() {
    const Sample sample = dataset_->At(0);
    storage::ReadRequest read;
    read.root = source_.root();
    read.object = sample.object;
    read.version = sample.version;
    read.layout = sample.layout;
    absl::StatusOr<storage::Revision> found;
    sample.layout->LookAgain(read, source_,
                             [&](absl::StatusOr<storage::Revision> revision) {
                               found = std::move(revision);
                             });
    return found;
  }

  const std::string content_ = GoldenNpz("rows.npz");
  storage::MemorySource source_;
  std::shared_ptr<const Dataset> dataset_;
};

TEST_F(NpzLayoutTest, SamplesAskForTheRevisionThatWasLoaded) {
  EXPECT_EQ(dataset_->At(0).version.revision, kIndexed);
}

TEST_F(NpzLayoutTest, KnowsATouchedFileByItsNewRevision) {
  source_.Rewrite("a.npz", content_, kTouched);
  const auto found = LookAgain();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, kTouched);
  EXPECT_EQ(dataset_->At(0).version.revision, kTouched);
}

TEST_F(NpzLayoutTest, RefusesAFileWithOtherArrays) {
  std::string other = content_;
  // The CRC-32 of the last member, in its entry of the directory.
  other[other.rfind("PK\1\2") + 16] ^= 1;
  source_.Rewrite("a.npz", other, kTouched);
  const absl::Status status = LookAgain().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("a.npz: was rewritten since the dataset was indexed"));
  EXPECT_EQ(dataset_->At(0).version.revision, kIndexed);
}

TEST_F(NpzLayoutTest, RefusesAFileThatCannotBeReadAnyMore) {
  source_.Rewrite("a.npz", std::string(content_.size(), '\0'), kTouched);
  EXPECT_TRUE(absl::IsFailedPrecondition(LookAgain().status()));
}

}  // namespace
}  // namespace forebay::dataset::npz
