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

// A manifest, and how to read it.
struct ManifestRequest {
  std::shared_ptr<const storage::Root> root;
  std::string path;  // below the root
  // CSV that is read in place of a file, with paths relative to the root.
  std::optional<std::string_view> table = std::nullopt;
  FieldColumns fields;
  // The folder that absolute paths must lie in; see ManifestOptions.
  std::string absolute_root;
  FindRoot find_root;
  // Makes the function for the manifest and its files, which gives up soon
  // after that stop is requested.
  std::function<StatFunction(const std::stop_token& stop)> stat_until;
  int threads = 1;  // that stat files; at least 1
  // How many files to stat before a known manifest is used again. In a bucket
  // each is a request.
  std::uint64_t max_stats = 0;
  storage::ByteSource* source = nullptr;
};

// All manifests that are open. Loaders share a manifest in memory while the
// file, or table, is the same and no file was found to be another, by a read
// or by a stat. Open stats some files, spread evenly, before it shares a
// manifest.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the file, for a
// stat of each file, and for another Open of the same manifest, but returns
// soon after its stop is requested unless others wait for the same.
class ManifestCatalog {
 public:
  // The budget outlives the catalog and the datasets.
  explicit ManifestCatalog(base::MemoryBudget* budget) : budget_(budget) {}

  // Adds to `warnings`, a sentence each, what is likely to be a mistake. Errors
  // name the root and the manifest: those of `stat`, of the source and of
  // Manifest::Read; RESOURCE_EXHAUSTED: the file is too large, or the budget
  // has no room; CANCELLED: stopped.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const ManifestRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using ManifestPtr = std::shared_ptr<const Manifest>;
  using Search = SingleFlight<std::string, Manifest>;

  absl::StatusOr<ManifestPtr> Find(const ManifestRequest& request,
                                   const ManifestPtr& known,
                                   std::vector<std::string>* warnings,
                                   const std::stop_token& stop) const;
  absl::StatusOr<ManifestPtr> ReadFile(const ManifestRequest& request,
                                       const StatFunction& stat,
                                       storage::ObjectVersion version,
                                       const std::stop_token& stop) const;
  // Counts in `memory` what it makes of the table.
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
