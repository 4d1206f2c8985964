#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_LAYOUT_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/zip/zip_index.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::zip {

// The layout of an index's archives. If a read finds that an archive's ctime
// has changed, Revalidate reads the archive's directory again. If the directory
// is unchanged, the index records the new ctime.
//
// Threads, blocking and errors are as ObjectLayout says. Shares the index.
// Counts the memory of a revalidation in the budget, which outlives the layout.
class ZipLayout final : public storage::ObjectLayout {
 public:
  ZipLayout(std::shared_ptr<const ZipIndex> index, base::MemoryBudget* budget)
      : index_(std::move(index)), budget_(budget) {}

  void Revalidate(const storage::ReadRequest& read, storage::ByteSource& source,
                  std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override;

 private:
  const std::shared_ptr<const ZipIndex> index_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_LAYOUT_H_
