#ifndef FOREBAY_SERVER_DATASET_CATALOG_OPTIONS_H_
#define FOREBAY_SERVER_DATASET_CATALOG_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "server/base/memory_budget.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset {

struct CatalogOptions {
  // Where indexes are saved. If empty, they are in memory only.
  std::string index_directory;
  // Directories that one scan lists at once; at least 1.
  int scan_threads = 8;
  // Nanoseconds since the epoch.
  std::function<std::int64_t()> wall_clock;
  // Lists remote roots. Null if there are none.
  storage::ObjectLister* lister = nullptr;
  // Counts datasets and the work of making them; outlives both.
  base::MemoryBudget* budget = nullptr;
  // How long a list of a remote root is used without another, in nanoseconds.
  std::int64_t recent_list_nanos = 60'000'000'000;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_CATALOG_OPTIONS_H_
