#ifndef FOREBAY_SERVER_DATASET_COMPOSED_COMPOSER_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_COMPOSER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/dataset/catalog.h"
#include "server/dataset/composed/dataset_inputs.h"
#include "server/dataset/dataset.h"
#include "server/dataset/opening.h"
#include "server/storage/byte_source.h"

namespace forebay::proto {
class DatasetSpec;
}  // namespace forebay::proto

namespace forebay::dataset::composed {

// Opens any dataset. The catalog opens datasets of files and objects; the
// composer makes subsets, concatenations and datasets in memory. Loaders that
// send equal arrays share one copy.
//
// Thread-safe. Owns nothing that it hands out. The catalog and the budget
// outlive the composer and the datasets. Open blocks as Catalog::Open does.
// Only Open has errors.
class Composer {
 public:
  Composer(Catalog* catalog, base::MemoryBudget* budget)
      : catalog_(catalog), budget_(budget) {}

  // Opens the dataset that `spec` describes. The client sent `inputs` with
  // `spec`. The other parameters and the errors are those of Catalog::Open.
  // Further errors: those of SealedMemory, IndexList, NumbersOfKeys,
  // MemoryRecordLayout and Concatenation. INVALID_ARGUMENT: a part lacks an
  // input.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const DatasetInputs& inputs, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using DatasetPtr = std::shared_ptr<const Dataset>;

  // Opens all parts of a spec, each by Open.
  absl::StatusOr<std::vector<DatasetPtr>> OpenParts(
      const DatasetInputs& inputs, const proto::DatasetSpec& spec,
      storage::ByteSource& source, std::vector<std::string>* warnings,
      const Opening& opening);
  // Makes a subset of `whole`. `inputs` has the list of its samples: `keys`
  // keys, or numbers if `keys` is 0.
  absl::StatusOr<DatasetPtr> OpenSubset(DatasetPtr whole,
                                        const DatasetInputs& inputs,
                                        std::uint64_t keys);
  // Makes a dataset of arrays in memory. If an equal dataset is open, returns
  // that dataset.
  absl::StatusOr<DatasetPtr> OpenArrays(const DatasetInputs& inputs,
                                        const proto::DatasetSpec& spec);

  Catalog* const catalog_;
  base::MemoryBudget* const budget_;
  base::Mutex mutex_;
  // The open datasets of arrays in memory, by version.
  std::map<Version, std::weak_ptr<const Dataset>> arrays_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_COMPOSER_H_
