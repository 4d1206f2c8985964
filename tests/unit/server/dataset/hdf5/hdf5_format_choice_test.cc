// Tests which datasets of a file become fields if no field is named.
#include "server/dataset/hdf5/hdf5_format_choice.h"

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/records/record_catalog.h"
#include "server/dataset/records/record_format.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"
#include "tests/unit/server/dataset/hdf5/old_style_file.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::Contains;
using tests::IsOk;
using tests::SizeIs;

// The result of opening a file without named fields.
struct Opened {
  absl::StatusOr<records::RecordRequest::FormatPtr> format;
  std::vector<std::string> warnings;
};

Opened Open(const std::string& file) {
  storage::MemorySource source;
  const storage::ObjectVersion version = source.Put("a.h5", file);
  const auto choice = Hdf5FormatChoice::Create({}, {}, base::AmpleBudget());
  REQUIRE_THAT(choice, IsOk());
  records::RecordRequest request;
  request.root = source.root();
  request.source = &source;
  std::vector<std::string> warnings;
  choice->Complete(&request, &warnings);
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  auto format =
      request.find_format({{"a.h5", version}}, memory, std::stop_token());
  return {std::move(format), std::move(warnings)};
}

// The file has two datasets with 2 rows, and two with 4.
TEST_CASE("HDF5 fields have the larger of two equally frequent numbers of rows",
          "[hdf5][hdf5_format_choice]") {
  const Opened opened = Open(GoldenFile("apart_latest.h5"));
  REQUIRE_THAT(opened.format, IsOk());
  const std::string text = (*opened.format)->text();
  CHECK_THAT(text, Contains("packed"));
  CHECK_THAT(text, Contains("plain"));
  CHECK_THAT(text, !Contains("between_"));
  REQUIRE_THAT(opened.warnings, SizeIs(2));
  CHECK_THAT(opened.warnings[0],
             Contains("between_0: has 2 rows, and others have 4"));
}

TEST_CASE("HDF5 groups that are too deep do not look like samples",
          "[hdf5][hdf5_format_choice]") {
  OldStyleFile file;
  const std::uint64_t data =
      file.AddGroup({{"x", file.AddDataset(4)}, {"y", file.AddDataset(4)}});
  OldStyleFile::Links links = {{"data", data}};
  for (std::size_t i = 0; i < kMaxDatasetFields; ++i) {
    links.emplace_back(absl::StrCat("group", 100 + i),
                       file.AddChain(32, "g", file.AddGroup({})));
  }
  const Opened opened = Open(file.Finish(file.AddGroup(links)));
  REQUIRE_THAT(opened.format, IsOk());
  CHECK_THAT((*opened.format)->text(), Contains("data/x"));
  CHECK_THAT((*opened.format)->text(), Contains("data/y"));
  REQUIRE_THAT(opened.warnings, SizeIs(kMaxDatasetFields));
  CHECK_THAT(opened.warnings[0],
             Contains("a.h5 is read without group100/g/g/"));
  CHECK_THAT(opened.warnings[0],
             Contains("/g: is a group below 32 others on this path"));
}

TEST_CASE("An HDF5 group that is too deep leaves the hint at samples",
          "[hdf5][hdf5_format_choice]") {
  OldStyleFile file;
  OldStyleFile::Links samples;
  for (std::size_t i = 0; i <= kMaxDatasetFields; ++i) {
    samples.emplace_back(absl::StrCat(100 + i),
                         file.AddGroup({{"a", file.AddDataset(4)}}));
  }
  const std::uint64_t root =
      file.AddGroup({{"deep", file.AddChain(32, "g", file.AddGroup({}))},
                     {"s", file.AddGroup(samples)}});
  CHECK_THAT(Open(file.Finish(root)).format.status().message(),
             Contains("name \"s/*/a\""));
}

// No dataset is left that can be read.
TEST_CASE("An HDF5 file of deep groups alone is refused by their depth",
          "[hdf5][hdf5_format_choice]") {
  OldStyleFile file;
  const std::uint64_t root = file.AddChain(33, "g", file.AddDataset(4));
  CHECK_THAT(Open(file.Finish(root)).format.status().message(),
             Contains("is a group below 32 others on this path"));
}

}  // namespace
}  // namespace forebay::dataset::hdf5
