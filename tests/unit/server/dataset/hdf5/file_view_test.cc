// Tests that addresses in an HDF5 file do not lead outside of it.
#include "server/dataset/hdf5/file_view.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::HasCode;
using tests::IsOk;

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

// The part that is read last contains all bytes of the first, shorter part.
TEST_CASE_METHOD(FileViewTest,
                 "An HDF5 file's bytes are found in whichever part has them",
                 "[hdf5][file_view]") {
  FileView view(kSize, {.min = 1, .max = 1}, &memory_);
  std::vector<std::uint8_t> file(kSize);
  for (std::size_t i = 0; i < file.size(); ++i)
    file[i] = static_cast<std::uint8_t>(i % 251);
  const auto read = [&](std::uint64_t offset, std::uint64_t length) {
    REQUIRE_THAT(view.AtOffset(offset, length),
                 HasCode(absl::StatusCode::kUnavailable));
    const auto wanted = view.wanted();
    REQUIRE(wanted.has_value());
    REQUIRE_THAT(view.Take(Bytes(file).subspan(wanted->offset, wanted->length)),
                 IsOk());
  };
  read(500, 10);
  read(700, 10);
  read(400, 200);
  // The view has bytes 400 to 599 and 700 to 709.
  for (const std::uint64_t offset : {400, 499, 505, 509, 560, 700}) {
    CAPTURE(offset);
    const auto bytes = view.AtOffset(offset, offset < 700 ? 40 : 10);
    REQUIRE_THAT(bytes, IsOk());
    CHECK((*bytes)[0] == offset % 251);
  }
  CHECK_THAT(view.AtOffset(590, 11), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(view.AtOffset(699, 2), HasCode(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace forebay::dataset::hdf5
