// Tests which datasets of a file become fields if no field is named.
#include "server/dataset/hdf5/hdf5_format_choice.h"

#include <stop_token>
#include <string>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/records/record_catalog.h"
#include "server/dataset/records/record_format.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::Contains;
using tests::IsOk;
using tests::SizeIs;

// The file has two datasets with 2 rows, and two with 4.
TEST_CASE("HDF5 fields have the larger of two equally frequent numbers of rows",
          "[hdf5][hdf5_format_choice]") {
  storage::MemorySource source;
  const storage::ObjectVersion version =
      source.Put("a.h5", GoldenFile("apart_latest.h5"));
  const auto choice = Hdf5FormatChoice::Create({}, {}, base::AmpleBudget());
  REQUIRE_THAT(choice, IsOk());
  records::RecordRequest request;
  request.root = source.root();
  request.source = &source;
  std::vector<std::string> warnings;
  choice->Complete(&request, &warnings);
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  const auto format =
      request.find_format({{"a.h5", version}}, memory, std::stop_token());
  REQUIRE_THAT(format, IsOk());
  CHECK_THAT((*format)->text(), Contains("packed"));
  CHECK_THAT((*format)->text(), Contains("plain"));
  CHECK_THAT((*format)->text(), !Contains("between_"));
  REQUIRE_THAT(warnings, SizeIs(2));
  CHECK_THAT(warnings[0], Contains("between_0: has 2 rows, and others have 4"));
}

}  // namespace
}  // namespace forebay::dataset::hdf5
