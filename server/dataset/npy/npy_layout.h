#ifndef FOREBAY_SERVER_DATASET_NPY_NPY_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_NPY_NPY_LAYOUT_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/npy/npy_index.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::npy {

// The layout of the files of an NpyIndex. Revalidate reads a file's header
// again after the file's ctime has changed. If the rows' type, number and
// offset are still those of the index, the index accepts the new ctime, and
// reads go on.
//
// Thread-safe and immutable. Shares the index. Counts the headers that it reads
// in `budget`, which outlives the layout. Never blocks: `done` is called when
// the read ends. Errors are those that ObjectLayout names.
class NpyLayout final : public storage::ObjectLayout {
 public:
  NpyLayout(std::shared_ptr<const NpyIndex> index, base::MemoryBudget* budget)
      : index_(std::move(index)), budget_(budget) {}

  void Revalidate(const storage::ReadRequest& read, storage::ByteSource& source,
                  std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override;

 private:
  const std::shared_ptr<const NpyIndex> index_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_SERVER_DATASET_NPY_NPY_LAYOUT_H_
