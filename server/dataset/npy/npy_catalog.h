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

// A dataset of .npy files, and how to read their headers.
struct NpyRequest {
  std::shared_ptr<const storage::Root> root;
  // Tells apart sets of files below one root, such as by their patterns.
  std::string name;
  // Returns the files, in their order and present versions, counted in the
  // memory.
  std::function<absl::StatusOr<std::vector<storage::ListedObject>>(
      base::WorkingMemory&, const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
  std::size_t files_at_once = 8;  // see NpyScanOptions
};

// All datasets of .npy files that are open. Each Open lists the files anew.
// While they are the same files in the same versions, it shares their index in
// memory, or finds it on disk.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the listing and
// for reads, and for another Open of the same files, but returns soon after its
// stop is requested unless others wait for the same.
class NpyCatalog {
 public:
  // The budget outlives the catalog and the datasets.
  // Saves indexes of many files in that directory. If it is empty, they are in
  // memory only.
  NpyCatalog(const std::string& index_directory, base::MemoryBudget* budget)
      : budget_(budget),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<NpyIndexStore>(
                                             index_directory, budget)) {}

  // Adds to `warnings`, a sentence each, what failed without harm. Errors name
  // the root: those of `list` and of ScanNpyFiles; CANCELLED:
  // stopped; RESOURCE_EXHAUSTED: the budget has no room.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const NpyRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const NpyIndex>;
  using Search = SingleFlight<std::string, NpyIndex>;

  using Files = std::vector<storage::ListedObject>;

  absl::StatusOr<IndexPtr> FindIndex(const NpyRequest& request,
                                     const std::string& key,
                                     const IndexPtr& known,
                                     std::vector<std::string>* warnings,
                                     const std::stop_token& stop) const;
  absl::StatusOr<IndexPtr> FindOnce(const NpyRequest& request,
                                    const std::string& key,
                                    const IndexPtr& known,
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
