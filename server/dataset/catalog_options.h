#ifndef FOREBAY_SERVER_DATASET_CATALOG_OPTIONS_H_
#define FOREBAY_SERVER_DATASET_CATALOG_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "server/base/memory_budget.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

// The settings of a Catalog, and the objects that it uses but does not own.
struct CatalogOptions {
  // The directory in which indexes are saved. If it is empty, indexes are in
  // memory only.
  std::string index_directory;
  // The number of directories or small files that one scan reads at once; at
  // least 1.
  int scan_threads = 8;
  // Returns the wall-clock time, in nanoseconds since the Unix epoch.
  std::function<std::int64_t()> wall_clock;
  // Lists the objects of remote roots. Null if the daemon has no remote roots.
  storage::ObjectLister* lister = nullptr;
  // The budget that counts datasets and the work of building them. It outlives
  // the catalog and the datasets.
  base::MemoryBudget* budget = nullptr;
  // The greatest age, in nanoseconds, at which a list of a remote root's
  // objects is used again.
  std::int64_t recent_list_nanos = 60'000'000'000;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_CATALOG_OPTIONS_H_
