// Tests that addresses in an HDF5 file do not lead outside of it.
#include "server/dataset/hdf5/file_view.h"

#include <cstdint>
#include <limits>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::HasCode;

constexpr std::uint64_t kSize = 1000;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class FileViewTest {
 protected:
  base::WorkingMemory memory_ =
      base::WorkingMemory(base::AmpleBudget(), "a test");
  FileView view_ = FileView(kSize, ReadSizes(), &memory_);
};

TEST_CASE_METHOD(FileViewTest, "An HDF5 address counts from the base address",
                 "[hdf5][file_view]") {
  view_.SetAddresses(100, Widths());
  CHECK(view_.Locate(0, 900).value_or(0) == 100);
  CHECK(view_.Locate(300, 600).value_or(0) == 400);
  CHECK(view_.Locate(900, 0).value_or(0) == 1000);
}

TEST_CASE_METHOD(FileViewTest, "An HDF5 address does not lead out of the file",
                 "[hdf5][file_view]") {
  view_.SetAddresses(100, Widths());
  const auto refused = HasCode(absl::StatusCode::kDataLoss);
  CHECK_THAT(view_.Locate(0, 901), refused);
  CHECK_THAT(view_.Locate(300, 601), refused);
  CHECK_THAT(view_.Locate(901, 0), refused);
  CHECK_THAT(view_.Locate(300, kMost), refused);
  CHECK_THAT(view_.Locate(kMost - 1, 1), refused);
  CHECK_THAT(view_.Locate(kMost, 0), refused);
}

TEST_CASE_METHOD(FileViewTest, "No HDF5 address fits a base behind the file",
                 "[hdf5][file_view]") {
  view_.SetAddresses(kSize + 1, Widths());
  CHECK_THAT(view_.Locate(0, 0), HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::dataset::hdf5
