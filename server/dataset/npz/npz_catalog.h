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

// A dataset of the rows of .npz files, and how to read it.
struct NpzRequest {
  std::shared_ptr<const storage::Root> root;
  // Tells apart sets of files below one root, such as by their patterns.
  std::string name;
  std::vector<std::string> arrays;  // their names; none: all that have rows
  // Returns the files, in their order and present versions, counted in the
  // memory.
  std::function<absl::StatusOr<std::vector<storage::ListedObject>>(
      base::WorkingMemory&, const std::stop_token&)>
      list;
  storage::ByteSource* source = nullptr;
};

// All datasets of rows of .npz files that are open: their content is in memory.
// Each Open lists the files anew. While they are the same files in the same
// versions, it shares the memory.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the listing and
// for reads, and for another Open of the same files, but returns soon after its
// stop is requested unless others wait for the same.
class NpzCatalog {
 public:
  // The budget outlives the catalog and the datasets.
  explicit NpzCatalog(base::MemoryBudget* budget) : budget_(budget) {}

  // Adds to `warnings`, a sentence each, which arrays are left out. Errors name
  // the root: those of `list` and of LoadNpzRows; CANCELLED: stopped.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const NpzRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  // Files, and the rows that were read of them.
  struct Rows {
    std::vector<storage::ListedObject> files;
    base::MemoryReservation reservation;  // for this list
    std::shared_ptr<const Dataset> dataset;
  };
  using RowsPtr = std::shared_ptr<const Rows>;
  using Search = SingleFlight<std::string, Rows>;

  absl::StatusOr<RowsPtr> FindRows(const NpzRequest& request,
                                   const RowsPtr& known,
                                   std::vector<std::string>* warnings,
                                   const std::stop_token& stop) const;
  absl::StatusOr<RowsPtr> FindOnce(const NpzRequest& request,
                                   const RowsPtr& known,
                                   std::vector<std::string>* warnings,
                                   const std::stop_token& stop) const;

  base::MemoryBudget* const budget_;
  Search search_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_CATALOG_H_
