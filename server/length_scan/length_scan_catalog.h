#ifndef FOREBAY_SERVER_LENGTH_SCAN_LENGTH_SCAN_CATALOG_H_
#define FOREBAY_SERVER_LENGTH_SCAN_LENGTH_SCAN_CATALOG_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index_store.h"
#include "server/dataset/single_flight.h"
#include "server/length_scan/length_scan.h"
#include "server/length_scan/value_sizes.h"

namespace forebay::length_scan {

// Finds the sizes of a field's values, if the dataset's index does not have
// them. All loaders of the dataset share the sizes. The sizes are measured once
// and kept on disk beside the index. They are used again while the dataset's
// version and the revisions of its files stay the same.
//
// Thread-safe; owns nothing that it hands out. The objects in LengthScanDeps
// outlive the catalog. Only Find blocks, and only Find has errors.
class LengthScanCatalog {
 public:
  // Saves sizes in `index_directory`. If it is empty, sizes are in memory only.
  LengthScanCatalog(const std::string& index_directory, LengthScanDeps deps);

  // Finds the sizes of the subject's values. Adds a sentence to `warnings` for
  // each failure that does no harm. Blocks while the samples are measured. This
  // may take as long as reading all of them. Once `stop` is requested, Find
  // returns soon, unless others wait for the same sizes. Errors are those of
  // ScanLengths.
  absl::StatusOr<std::shared_ptr<const ValueSizes>> Find(
      const Subject& subject, std::vector<std::string>* warnings,
      const std::stop_token& stop);

 private:
  using SizesPtr = std::shared_ptr<const ValueSizes>;
  // The name of the sizes on disk, and the identity of the dataset's index.
  using Key = std::pair<std::string, const void*>;

  // Loads the sizes from disk, or measures and saves them.
  absl::StatusOr<SizesPtr> Search(const Subject& subject,
                                  const std::string& name,
                                  std::vector<std::string>* warnings,
                                  const std::stop_token& stop) const;

  const LengthScanDeps deps_;
  const std::optional<dataset::IndexStore> store_;
  dataset::SingleFlight<Key, ValueSizes> search_;
};

}  // namespace forebay::length_scan

#endif  // FOREBAY_SERVER_LENGTH_SCAN_LENGTH_SCAN_CATALOG_H_
