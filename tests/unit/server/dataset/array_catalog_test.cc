// Tests how the catalog opens NumPy's files and files of tokens.

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
  proto::DatasetSpec npz, tokens;
  const auto refusal = [&](const proto::DatasetSpec& spec) {
    return catalog.Open(tree.Root("data"), spec, source, &warnings).status();
  };
  npz.mutable_npz()->add_arrays("x");
  tokens.mutable_tokens()->set_stride(8);
  for (const proto::DatasetSpec& spec : {npz, tokens})
    CHECK_THAT(refusal(spec), HasCode(absl::StatusCode::kInvalidArgument));
  const auto no_files =
      absl::InvalidArgumentError(tree.path() + "/data: no files were named");
  for (const auto samples : {proto::Npz::ROWS, proto::Npz::FILES}) {
    npz.mutable_npz()->clear_files();
    npz.mutable_npz()->set_samples(samples);
    CHECK(refusal(npz) == no_files);
    npz.mutable_npz()->add_files("*.npz");
    CHECK_THAT(refusal(npz), HasCode(absl::StatusCode::kNotFound));
  }
  tokens.mutable_tokens()->set_length(8);
  CHECK(refusal(tokens) == no_files);
  tokens.mutable_tokens()->add_files("*.npy");
  CHECK_THAT(refusal(tokens), HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace forebay::dataset
