#ifndef FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_CATALOG_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_CATALOG_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/dataset/manifest/image_paths.h"
#include "server/dataset/manifest/manifest.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::manifest {

// A manifest, and how to read it.
struct ManifestRequest {
  std::shared_ptr<const storage::Root> root;
  std::string path;  // below the root
  FieldColumns fields;
  // The folder that absolute paths must lie in: see ManifestOptions.
  std::string absolute_root;
  FindRoot find_root;
  // Of the manifest and of images.
  StatFunction stat;
  int threads = 1;  // that look at images; at least 1
  // At how many images to look before a manifest that is known is used again.
  std::uint64_t max_stats = 0;
  storage::ByteSource* source = nullptr;
};

// All manifests that are open: each is shared in memory while any loader uses
// it, the file is still the same, and no image turned out to be another: of
// those that are looked at, evenly spread, or in a read.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the file, for a
// look at each image, and for another Open of the same manifest, but not for
// long once its stop is requested.
class ManifestCatalog {
 public:
  // The budget outlives it and the datasets.
  explicit ManifestCatalog(base::MemoryBudget* budget) : budget_(budget) {}

  // Errors name the root and the manifest: those of `stat`, of the source and
  // of Manifest::Read; RESOURCE_EXHAUSTED: the file is too large, or the budget
  // has no room; CANCELLED: stopped. What is likely to be a mistake is added to
  // `warnings`, a sentence each.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const ManifestRequest& request, std::vector<std::string>* warnings,
      const std::stop_token& stop);

 private:
  using ManifestPtr = std::shared_ptr<const Manifest>;

  absl::StatusOr<ManifestPtr> Find(const ManifestRequest& request,
                                   const ManifestPtr& known,
                                   std::vector<std::string>* warnings,
                                   const std::stop_token& stop) const;
  absl::StatusOr<ManifestPtr> Read(const ManifestRequest& request,
                                   storage::ObjectVersion version,
                                   const std::stop_token& stop) const;

  base::MemoryBudget* const budget_;
  SingleFlight<std::string, Manifest> search_;
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_CATALOG_H_
