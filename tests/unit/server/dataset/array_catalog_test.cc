// Tests how the catalog opens NumPy's files and tokens.

#include <string>
#include <vector>

#include "proto/dataset.pb.h"
#include "server/dataset/catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset {
namespace {

using tests::HasCode;

TEST_CASE("NPZ and token files must be named and described for the catalog",
          "[dataset][array_catalog]") {
  const ScratchTree tree;
  tree.MakeDirectory("data");
  storage::MemorySource source;
  CatalogOptions options;
  options.scan_threads = 2;
  options.budget = base::AmpleBudget();
  options.wall_clock = [] { return std::int64_t{0}; };
  Catalog catalog(options);
  std::vector<std::string> warnings;
  for (const bool is_npz : {true, false}) {
    proto::DatasetSpec spec;
    spec.set_format(is_npz ? proto::DatasetSpec::NPZ
                           : proto::DatasetSpec::TOKENS);
    const auto refusal = [&] {
      return catalog.Open(tree.Root("data"), spec, source, &warnings).status();
    };
    CHECK_THAT(refusal(), HasCode(absl::StatusCode::kInvalidArgument));
    for (const char* const layout : {"rows", "files"}) {
      spec.clear_fields();
      spec.clear_columns();
      spec.clear_shards();
      spec.add_fields(is_npz ? "x" : "length");
      spec.add_columns(is_npz ? layout : "8");
      CHECK(refusal() == absl::InvalidArgumentError(
                             tree.path() + "/data: no files were named"));
      spec.add_shards("*.npz");
      CHECK_THAT(refusal(), HasCode(absl::StatusCode::kNotFound));
    }
  }
}

}  // namespace
}  // namespace forebay::dataset
