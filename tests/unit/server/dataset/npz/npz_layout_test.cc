#include "server/dataset/npz/npz_layout.h"

#include <memory>
#include <string>
#include <utility>

#include "server/dataset/npz/npz_rows.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/npz/golden_npz.h"

namespace forebay::dataset::npz {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr storage::Revision kIndexed = {.inode = 1, .ctime_nanos = 1};
constexpr storage::Revision kTouched = {.inode = 1, .ctime_nanos = 2};

// A file with one array in memory, and another array that is read from the
// file.
class NpzLayoutTest {
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

  // Returns the revision that another check finds.
  absl::StatusOr<storage::Revision> Revalidate() {
    const Sample sample = dataset_->At(0);
    storage::ReadRequest read;
    read.root = source_.root();
    read.object = sample.object;
    read.version = sample.version;
    read.layout = sample.layout;
    absl::StatusOr<storage::Revision> found;
    sample.layout->Revalidate(read, source_,
                              [&](absl::StatusOr<storage::Revision> revision) {
                                found = std::move(revision);
                              });
    return found;
  }

  const std::string content_ = GoldenNpz("rows.npz");
  storage::MemorySource source_;
  std::shared_ptr<const Dataset> dataset_;
};

TEST_CASE_METHOD(
    NpzLayoutTest,
    "The samples of an npz layout ask for the revision that was loaded",
    "[npz][npz_layout]") {
  CHECK(dataset_->At(0).version.revision == kIndexed);
}

TEST_CASE_METHOD(NpzLayoutTest,
                 "An npz layout knows a touched file by its new revision",
                 "[npz][npz_layout]") {
  source_.Rewrite("a.npz", content_, kTouched);
  const auto found = Revalidate();
  REQUIRE_THAT(found, IsOk());
  CHECK(*found == kTouched);
  CHECK(dataset_->At(0).version.revision == kTouched);
}

TEST_CASE_METHOD(NpzLayoutTest,
                 "An npz layout refuses a file with other arrays",
                 "[npz][npz_layout]") {
  std::string other = content_;
  // The changed byte is in the CRC-32 of the last member's header in the
  // central directory (APPNOTE 4.3.12).
  other[other.rfind("PK\1\2") + 16] ^= 1;
  source_.Rewrite("a.npz", other, kTouched);
  const absl::Status status = Revalidate().status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK_THAT(status.message(),
             Contains("a.npz: was rewritten since the dataset was indexed"));
  CHECK(dataset_->At(0).version.revision == kIndexed);
}

TEST_CASE_METHOD(NpzLayoutTest,
                 "An npz layout refuses a file that cannot be read any more",
                 "[npz][npz_layout]") {
  source_.Rewrite("a.npz", std::string(content_.size(), '\0'), kTouched);
  CHECK_THAT(Revalidate(), HasCode(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace forebay::dataset::npz
