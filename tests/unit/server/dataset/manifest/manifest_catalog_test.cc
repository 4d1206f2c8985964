#include "server/dataset/manifest/manifest_catalog.h"

#include <stop_token>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::dataset::manifest {
namespace {

using tests::IsOk;

// When the first caller stops, other callers may still wait for the manifest.
TEST_CASE(
    "A manifest catalog stats the files of a manifest until nobody waits for "
    "it",
    "[manifest][manifest_catalog]") {
  storage::MemorySource source;
  std::stop_token stats;
  const ManifestRequest request{
      .root = source.root(),
      .path = "",
      .table = "image\na.jpg\n",
      .fields = {{"image"}, {"image"}},
      .absolute_root = "",
      .find_root = nullptr,
      .stat_until = [&](const std::stop_token& stop) -> StatFunction {
        stats = stop;
        return [](const std::string&) { return storage::ObjectVersion{1, 1}; };
      },
      .source = &source};
  const std::stop_source caller;
  std::vector<std::string> warnings;
  ManifestCatalog catalog(base::AmpleBudget());
  const auto opened = catalog.Open(request, &warnings, caller.get_token());
  REQUIRE_THAT(opened, IsOk());
  CHECK(stats.stop_possible());
  CHECK(stats != caller.get_token());
}

}  // namespace
}  // namespace forebay::dataset::manifest
