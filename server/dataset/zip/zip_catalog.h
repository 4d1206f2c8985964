#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_CATALOG_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_CATALOG_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index_cache.h"
#include "server/dataset/opening.h"
#include "server/dataset/single_flight.h"
#include "server/dataset/zip/zip_index.h"
#include "server/dataset/zip/zip_index_store.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::zip {

// Describes a dataset of class folders in archives, and how to find it.
struct ZipRequest {
  using Archives = std::vector<storage::ListedObject>;

  std::shared_ptr<const storage::Root> root;
  std::vector<std::string> patterns;  // the archives' paths below the root
  // The folder in the archives, without slashes at its ends. Empty means the
  // archives' root.
  std::string folder;
  bool are_audio = false;  // whether samples are clips, not images
  // Lists the archives, in order and in their present versions, and counts the
  // list in the WorkingMemory.
  std::function<absl::StatusOr<Archives>(base::WorkingMemory&,
                                         const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
  std::size_t archives_at_once = 16;  // how many are scanned in parallel; not 0
};

// Opens datasets in zip archives. Each Open lists the archives anew. Open uses
// an index in memory or on disk if that index has the same archives in the same
// versions. If there is no such index, Open scans the archives' directories.
//
// Thread-safe. Owns nothing that it hands out. Open blocks for the listing, for
// reads, and for another Open of the same archives. Open returns soon after its
// stop is requested, unless other openings wait for the same index.
class ZipCatalog {
 public:
  // Saves indexes in `index_directory`; if that is empty, indexes are in memory
  // only. `budget` outlives the catalog and the datasets. `index_cache`
  // outlives the catalog; if `kept` is null, idle indexes are not kept.
  ZipCatalog(const std::string& index_directory, base::MemoryBudget* budget,
             IndexCache* index_cache = nullptr)
      : budget_(budget),
        index_cache_(index_cache),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<ZipIndexStore>(
                                             index_directory, budget)) {}

  // Opens the dataset. Adds a sentence to `warnings` for each failure that the
  // call survived. If all images have one class because they lie below one
  // folder, a warning says which folder to open instead. Errors name the path.
  // CANCELLED: the opening was stopped. RESOURCE_EXHAUSTED: the budget has no
  // room. Other errors: those of `list`, ZipParser, ScanObjects and
  // BuildZipIndex.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const ZipRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const ZipIndex>;
  using Search = SingleFlight<std::string, ZipIndex>;

  // Finds the index by FindOnce, and tries again if archives change meanwhile.
  absl::StatusOr<IndexPtr> FindIndex(const ZipRequest& request,
                                     const std::string& name, IndexPtr previous,
                                     std::vector<std::string>* warnings,
                                     const std::stop_token& stop) const;
  // Returns `previous` if it still fits the archives; otherwise loads the index
  // or scans for it. Resets `previous` before that, to free its memory.
  absl::StatusOr<IndexPtr> FindOnce(const ZipRequest& request,
                                    const std::string& name, IndexPtr& previous,
                                    std::vector<std::string>* warnings,
                                    const std::stop_token& stop) const;
  // Reads the directories of all archives, and builds the index.
  absl::StatusOr<IndexPtr> Scan(const ZipRequest& request,
                                const ZipRequest::Archives& archives,
                                base::WorkingMemory& memory,
                                const std::stop_token& stop) const;
  // Loads the index from disk. Returns null if the disk has no index of these
  // archives in these versions.
  IndexPtr Load(const ZipRequest& request, const std::string& name,
                const ZipRequest::Archives& archives,
                std::vector<std::string>* warnings) const;

  base::MemoryBudget* const budget_;
  IndexCache* const index_cache_;
  const std::optional<ZipIndexStore> store_;
  Search search_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_CATALOG_H_
