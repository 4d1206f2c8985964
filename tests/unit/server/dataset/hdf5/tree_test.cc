// Tests of listings of groups within groups.
#include "server/dataset/hdf5/tree.h"

#include <cstdint>
#include <string>
#include <vector>

#include "server/base/memory_budget.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/hdf5/golden_hdf5.h"
#include "tests/unit/server/dataset/hdf5/old_style_file.h"

namespace forebay::dataset::hdf5 {
namespace {

using tests::IsEmpty;
using tests::IsOk;

// The paths that ArrayLister gives.
struct Listing {
  std::vector<std::string> datasets;
  std::vector<std::string> deep_groups;
};

// Lists a file.
Listing List(const std::string& file) {
  base::MemoryBudget budget(1 << 26);
  base::WorkingMemory memory(&budget, "a test");
  FileView view(file.size(), {}, &memory);
  ArrayLister lister(&memory);
  CHECK_THAT(LookInto(file, view,
                      [&](FileView& looked) { return lister.Run(looked); }),
             IsOk());
  Listing listing;
  for (const ListedArray& one : lister.datasets()) {
    CHECK_THAT(one.array, IsOk());
    listing.datasets.push_back(one.path);
  }
  for (const auto& [address, path] : lister.deep_groups())
    listing.deep_groups.push_back(path);
  return listing;
}

// Returns a path of equal names.
std::string PathOf(int names, const std::string& name) {
  std::string path = name;
  for (int i = 1; i < names; ++i) path += "/" + name;
  return path;
}

using Paths = std::vector<std::string>;

TEST_CASE("HDF5 groups below too many others are named in a listing",
          "[hdf5][tree]") {
  OldStyleFile file;
  const std::uint64_t dataset = file.AddDataset(2);
  // The chain's first group is the root.
  const Listing deepest = List(file.Finish(file.AddChain(32, "a", dataset)));
  CHECK(deepest.datasets == Paths{PathOf(32, "a")});
  CHECK_THAT(deepest.deep_groups, IsEmpty());
  for (const int groups : {33, 40}) {
    const Listing deeper =
        List(file.Finish(file.AddChain(groups, "a", dataset)));
    CHECK_THAT(deeper.datasets, IsEmpty());
    CHECK(deeper.deep_groups == Paths{PathOf(32, "a")});
  }
}

// Indexes that the daemon saved have the last path.
TEST_CASE("HDF5 groups with several names are listed under the last",
          "[hdf5][tree]") {
  OldStyleFile file;
  const std::uint64_t group = file.AddGroup({{"x", file.AddDataset(2)}});
  const std::uint64_t root = file.AddGroup({{"a", group}, {"b", group}});
  CHECK(List(file.Finish(root)).datasets == Paths{"b/x"});

  std::uint64_t nested = file.AddGroup({});
  for (int i = 0; i < 40; ++i)
    nested = file.AddGroup({{"a", nested}, {"b", nested}});
  CHECK(List(file.Finish(nested)).deep_groups == Paths{PathOf(32, "b")});
}

TEST_CASE("HDF5 groups that also have a short path are not too deep",
          "[hdf5][tree]") {
  OldStyleFile file;
  const std::uint64_t group = file.AddGroup({{"x", file.AddDataset(2)}});
  const std::uint64_t chain = file.AddChain(31, "c", group);
  const Listing listing =
      List(file.Finish(file.AddGroup({{"a", group}, {"b", chain}})));
  CHECK(listing.datasets == Paths{"a/x"});
  CHECK_THAT(listing.deep_groups, IsEmpty());
}

}  // namespace
}  // namespace forebay::dataset::hdf5
