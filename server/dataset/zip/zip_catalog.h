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
#include "server/dataset/kept_indexes.h"
#include "server/dataset/opening.h"
#include "server/dataset/single_flight.h"
#include "server/dataset/zip/zip_index.h"
#include "server/dataset/zip/zip_index_store.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::zip {

// A dataset of class folders in archives, and how to find it.
struct ZipRequest {
  using Archives = std::vector<storage::ListedObject>;

  std::shared_ptr<const storage::Root> root;
  std::vector<std::string> patterns;  // of the archives, below the root
  // In the archives, without slashes at its ends; empty: their root.
  std::string folder;
  bool are_audio = false;  // the samples; else images
  // Returns the archives, in their order and present versions, counted in the
  // memory.
  std::function<absl::StatusOr<Archives>(base::WorkingMemory&,
                                         const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
  std::size_t archives_at_once = 16;  // at least 1
};

// All datasets in zip archives that are open. Each Open lists the archives
// anew. While they are the same archives in the same versions, it shares their
// index in memory, or finds it on disk.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the listing and
// for reads, and for another Open of the same archives, but returns soon after
// its stop is requested unless others wait for the same.
class ZipCatalog {
 public:
  // Saves indexes in that directory. If it is empty, they are in memory only.
  // The budget outlives the catalog and the datasets; `kept`, unless it is
  // null, the catalog.
  ZipCatalog(const std::string& index_directory, base::MemoryBudget* budget,
             KeptIndexes* kept = nullptr)
      : budget_(budget),
        kept_(kept),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<ZipIndexStore>(
                                             index_directory, budget)) {}

  // Adds to `warnings`, a sentence each, what failed without harm, and which
  // folder to open instead if all images have one class for lack of it. Errors
  // name the path: those of the listing, of ZipParser, ScanObjects and
  // BuildZipIndex; CANCELLED: stopped; RESOURCE_EXHAUSTED: the budget has no
  // room.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const ZipRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const ZipIndex>;
  using Search = SingleFlight<std::string, ZipIndex>;

  absl::StatusOr<IndexPtr> FindIndex(const ZipRequest& request,
                                     const std::string& name, IndexPtr known,
                                     std::vector<std::string>* warnings,
                                     const std::stop_token& stop) const;
  // Lets `known` go if that is not the index.
  absl::StatusOr<IndexPtr> FindOnce(const ZipRequest& request,
                                    const std::string& name, IndexPtr& known,
                                    std::vector<std::string>* warnings,
                                    const std::stop_token& stop) const;
  absl::StatusOr<IndexPtr> Scan(const ZipRequest& request,
                                const ZipRequest::Archives& archives,
                                base::WorkingMemory& memory,
                                const std::stop_token& stop) const;
  IndexPtr Load(const ZipRequest& request, const std::string& name,
                const ZipRequest::Archives& archives,
                std::vector<std::string>* warnings) const;

  base::MemoryBudget* const budget_;
  KeptIndexes* const kept_;
  const std::optional<ZipIndexStore> store_;
  Search search_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_CATALOG_H_
