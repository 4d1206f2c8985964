#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_CATALOG_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_CATALOG_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/opening.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npz {

// A request to open a dataset of the rows of .npz files.
struct NpzRequest {
  std::shared_ptr<const storage::Root> root;
  // A text that differs for different sets of files below one root, such as the
  // patterns of their paths.
  std::string name;
  // Names of the arrays that are fields; if empty, all arrays that have rows.
  std::vector<std::string> arrays;
  // Returns the files in the order of the dataset, with the versions that they
  // have now. Counts the list in the given memory. Ends early once a stop is
  // requested.
  std::function<absl::StatusOr<std::vector<storage::ListedObject>>(
      base::WorkingMemory&, const std::stop_token&)>
      list;
  // The source from which files are read. The source outlives the call of Open.
  storage::ByteSource* source = nullptr;
};

// Opens datasets of the rows of .npz files. The content of such a dataset is in
// memory, which equal datasets share. Each Open lists the files anew. If an
// open dataset has the same files in the same versions, Open returns that
// dataset. If not, Open reads the files.
//
// Thread-safe. The callers own the datasets; the catalog keeps no dataset
// alive. Open blocks for the listing and for reads, and for another Open of the
// same files. Once its stop is requested, Open returns soon, unless other calls
// wait for the same files. Errors name the root.
class NpzCatalog {
 public:
  // Makes a catalog whose datasets count their memory in the budget, which
  // outlives the catalog and the datasets.
  explicit NpzCatalog(base::MemoryBudget* budget) : budget_(budget) {}

  // Opens the dataset. Adds a sentence to `warnings` for each array that is
  // left out. Errors: those of `list` and of LoadNpzRows; NOT_FOUND: there are
  // no files; CANCELLED: the stop was requested.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const NpzRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  // A dataset, and the list of files that it was read from. Later calls compare
  // that list with their own.
  struct Rows {
    std::vector<storage::ListedObject> files;
    // Memory of the list `files`.
    base::MemoryReservation reservation;
    std::shared_ptr<const Dataset> dataset;
  };
  using RowsPtr = std::shared_ptr<const Rows>;
  using Search = SingleFlight<std::string, Rows>;

  // Returns the rows of the files that the request has now. Tries again if
  // files change between the listing and the reads.
  absl::StatusOr<RowsPtr> FindRows(const NpzRequest& request,
                                   const RowsPtr& previous,
                                   std::vector<std::string>* warnings,
                                   const std::stop_token& stop) const;
  // Makes one attempt: lists the files, and reads them unless `previous` was
  // read from the same files.
  absl::StatusOr<RowsPtr> FindOnce(const NpzRequest& request,
                                   const RowsPtr& previous,
                                   std::vector<std::string>* warnings,
                                   const std::stop_token& stop) const;

  base::MemoryBudget* const budget_;
  Search search_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_CATALOG_H_
