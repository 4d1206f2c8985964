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
// others are in memory. Revalidate reads a file's central directory again after
// the file's ctime has changed. The directory has the CRC-32 of every array. If
// the directory is still the one that was indexed, the arrays in memory are
// still those of the file, and the index accepts the new ctime.
//
// Thread-safe and immutable. Shares the index and owns the digests. Never
// blocks: `done` is called when the reads end. Errors are those that
// ObjectLayout names.
class NpzLayout final : public storage::ObjectLayout,
                        public std::enable_shared_from_this<NpzLayout> {
 public:
  // Makes the layout. `directories` has the zip::DirectoryDigest of each file
  // of the index. The layout keeps the part of `memory` that counts the
  // digests. `budget` counts the bytes that the layout reads, and outlives the
  // layout. RESOURCE_EXHAUSTED: `memory` has no room.
  static absl::StatusOr<std::shared_ptr<const NpzLayout>> Create(
      std::shared_ptr<const npy::NpyIndex> index,
      absl::Span<const Version> directories, base::WorkingMemory& memory,
      base::MemoryBudget* budget);

  void Revalidate(const storage::ReadRequest& read, storage::ByteSource& source,
                  std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override;

  // Compares `directory`, the digest of the directory in `revision` of a file,
  // with the digest that was indexed. If they are equal, the index accepts the
  // revision and the call returns true.
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
  // Digest of each file's central directory, by the number of the file.
  const std::vector<Version> directories_;
  // Memory of `directories_`.
  const base::MemoryReservation reservation_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_LAYOUT_H_
