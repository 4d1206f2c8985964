#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_CATALOG_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_CATALOG_H_

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
#include "server/dataset/npy/npy_index.h"
#include "server/dataset/npy/npy_index_store.h"
#include "server/dataset/opening.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npy {

// A request to open a dataset of .npy files: where the files are, and how their
// headers are read.
struct NpyRequest {
  std::shared_ptr<const storage::Root> root;
  // A text that differs for different sets of files below one root, such as the
  // patterns of their paths.
  std::string name;
  // Returns the files in the order of the dataset, with the versions that they
  // have now. Counts the list in the given memory. Ends early once a stop is
  // requested.
  std::function<absl::StatusOr<std::vector<storage::ListedObject>>(
      base::WorkingMemory&, const std::stop_token&)>
      list;
  // The source from which headers are read. The source outlives the call of
  // Open.
  storage::ByteSource* source = nullptr;
  // Number of files whose headers are read at the same time (NpyScanOptions).
  std::size_t files_at_once = 8;
};

// Opens datasets of .npy files and shares their indexes. Each Open lists the
// files anew. Open uses an index in memory or on disk if that index has the
// same files in the same versions. If there is no such index, Open reads the
// headers.
//
// Thread-safe. The callers own the datasets; the catalog keeps no index alive.
// Open blocks for the listing and for reads, and for another Open of the same
// files. Once its stop is requested, Open returns soon, unless other calls wait
// for the same index. Errors name the root.
class NpyCatalog {
 public:
  // If a dataset has many files, saves its index in `index_directory`. If
  // `index_directory` is empty, indexes are in memory only. The budget outlives
  // the catalog and the datasets.
  NpyCatalog(const std::string& index_directory, base::MemoryBudget* budget)
      : budget_(budget),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<NpyIndexStore>(
                                             index_directory, budget)) {}

  // Opens the dataset. Adds a sentence to `warnings` for each failure that the
  // call survived, such as an index that could not be saved. Errors: those of
  // `list` and of ScanNpyFiles; CANCELLED: the stop was requested;
  // RESOURCE_EXHAUSTED: the budget has no room.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const NpyRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const NpyIndex>;
  using Search = SingleFlight<std::string, NpyIndex>;

  using Files = std::vector<storage::ListedObject>;

  // Returns the index of the files that the request has now. Tries again if
  // files change between the listing and the reads.
  absl::StatusOr<IndexPtr> FindIndex(const NpyRequest& request,
                                     const std::string& key,
                                     const IndexPtr& previous,
                                     std::vector<std::string>* warnings,
                                     const std::stop_token& stop) const;
  // Makes one attempt. Lists the files, and returns the first index that is of
  // exactly these files: the one in memory (`previous`), the one on disk, or
  // the one that a scan makes.
  absl::StatusOr<IndexPtr> FindOnce(const NpyRequest& request,
                                    const std::string& key,
                                    const IndexPtr& previous,
                                    std::vector<std::string>* warnings,
                                    const std::stop_token& stop) const;
  IndexPtr Load(const NpyRequest& request, const std::string& key,
                const Files& files, std::vector<std::string>* warnings) const;

  base::MemoryBudget* const budget_;
  const std::optional<NpyIndexStore> store_;
  Search search_;
};

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_CATALOG_H_
