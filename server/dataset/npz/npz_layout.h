#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_LAYOUT_H_

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/npy/npy_index.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::npz {

// The layout of .npz files of which one array is read row by row, while the
// others are in memory. Reads a file's directory again after it was touched. If
// the directory says what it said, the CRCs of all arrays among that, then the
// arrays in memory are the file's still, and the index knows the file by its
// new ctime from then on.
//
// Threads, blocking and errors are as ObjectLayout says.
class NpzLayout final : public storage::ObjectLayout,
                        public std::enable_shared_from_this<NpzLayout> {
 public:
  // `directories` has the digest (zip::DirectoryDigest) of each of the index's
  // files. The layout keeps its part of `memory`, and counts in the budget what
  // it reads, which outlives it. RESOURCE_EXHAUSTED: that of `memory`.
  static absl::StatusOr<std::shared_ptr<const NpzLayout>> Create(
      std::shared_ptr<const npy::NpyIndex> index,
      absl::Span<const Version> directories, base::WorkingMemory& memory,
      base::MemoryBudget* budget);

  void LookAgain(const storage::ReadRequest& read, storage::ByteSource& source,
                 std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override;

  // Another look found a directory of that digest in that revision of a file.
  // Returns whether it is the one that was indexed.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const Version& directory) const;

 private:
  NpzLayout(std::shared_ptr<const npy::NpyIndex> index,
            absl::Span<const Version> directories,
            base::MemoryReservation reservation, base::MemoryBudget* budget)
      : index_(std::move(index)),
        directories_(directories.begin(), directories.end()),
        reservation_(std::move(reservation)),
        budget_(budget) {}

  const std::shared_ptr<const npy::NpyIndex> index_;
  const std::vector<Version> directories_;
  const base::MemoryReservation reservation_;  // for these
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_LAYOUT_H_
