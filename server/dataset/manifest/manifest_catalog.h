#ifndef FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_CATALOG_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_CATALOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/manifest/file_paths.h"
#include "server/dataset/manifest/manifest.h"
#include "server/dataset/opening.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::manifest {

// A manifest, and the means to read it.
struct ManifestRequest {
  std::shared_ptr<const storage::Root> root;
  std::string path;  // the path of the manifest's file below the root
  // A CSV text that is read instead of a file. The paths in it are relative to
  // the root.
  std::optional<std::string_view> table = std::nullopt;
  // The fields of a sample, and the columns that hold them.
  FieldColumns fields;
  // The same as `root` and `find_root` in ManifestOptions.
  std::string absolute_root;
  FindRoot find_root;
  // Makes the function that stats the manifest and its files. The function
  // gives up soon after `stop` is requested.
  std::function<StatFunction(const std::stop_token& stop)> stat_until;
  int threads = 1;  // number of threads that stat files; not 0
  // The most files that are checked by a stat before a manifest in memory is
  // used again. In a bucket, each stat takes a request.
  std::uint64_t max_stats = 0;
  storage::ByteSource* source = nullptr;
};

// Opens datasets of manifests. Loaders share a manifest in memory while its
// file or table is the same, and no read or stat has found that a row's file
// has changed. Before Open shares a manifest, it stats some files, evenly
// spread over the rows.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the file, for a
// stat of each row's file, and for another Open of the same manifest. It
// returns soon after `opening.stop` is requested, unless other openings wait
// for the same manifest.
class ManifestCatalog {
 public:
  // Takes memory from `budget`, which outlives the catalog and its datasets.
  explicit ManifestCatalog(base::MemoryBudget* budget) : budget_(budget) {}

  // Opens a dataset. Adds a sentence to `warnings` for each likely mistake.
  // Errors are those of `stat`, of the source and of Manifest::Read, and name
  // the root and the manifest. RESOURCE_EXHAUSTED: the file is too large, or
  // the budget has no room. CANCELLED: the opening was stopped.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const ManifestRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using ManifestPtr = std::shared_ptr<const Manifest>;
  using Search = SingleFlight<std::string, Manifest>;

  // Returns `previous` if the manifest has not changed since. `previous` was
  // found by an earlier search, or is null. Otherwise reads the manifest, and
  // reads it again if its file changes meanwhile.
  absl::StatusOr<ManifestPtr> Find(const ManifestRequest& request,
                                   const ManifestPtr& previous,
                                   std::vector<std::string>* warnings,
                                   const std::stop_token& stop) const;
  // Reads the version `version` of the manifest's file.
  absl::StatusOr<ManifestPtr> ReadFile(const ManifestRequest& request,
                                       const StatFunction& stat,
                                       storage::ObjectVersion version,
                                       const std::stop_token& stop) const;
  // Makes the manifest of a table. Counts the manifest in `memory`.
  absl::StatusOr<ManifestPtr> ReadTable(const ManifestRequest& request,
                                        const StatFunction& stat,
                                        std::string_view table,
                                        const storage::ObjectVersion& version,
                                        base::WorkingMemory& memory,
                                        const std::stop_token& stop) const;

  base::MemoryBudget* const budget_;
  Search search_;
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_CATALOG_H_
