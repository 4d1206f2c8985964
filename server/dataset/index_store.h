#ifndef FOREBAY_SERVER_DATASET_INDEX_STORE_H_
#define FOREBAY_SERVER_DATASET_INDEX_STORE_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/index.h"

namespace forebay::dataset {

// Whose index it is.
struct IndexKey {
  std::uint64_t device = 0;  // of the dataset's root directory, as inode
  std::uint64_t inode = 0;
  std::uint32_t format = 0;  // a proto::DatasetSpec::Format

  friend auto operator<=>(const IndexKey&, const IndexKey&) = default;
};

// Indexes on disk, one file a key, in a directory that only the daemon's user
// may write. A file is replaced in one step, so that a reader or a crash never
// finds half of one. Immutable and thread-safe. All calls block for the disk;
// their errors name the file.
class IndexStore {
 public:
  // `directory` is made, for its owner alone, when first written to; its parent
  // must exist. The budget outlives it and the indexes.
  IndexStore(std::string directory, base::MemoryBudget* budget)
      : directory_(std::move(directory)), budget_(budget) {}

  // NOT_FOUND: none is kept. DATA_LOSS: it is damaged or of another version.
  // PERMISSION_DENIED: the file belongs to somebody else. RESOURCE_EXHAUSTED:
  // the budget has no room for it. Others: the disk's.
  absl::StatusOr<std::shared_ptr<const Index>> Load(const IndexKey& key) const;

  // Errors as Load's; on failure what was kept before is still there.
  absl::Status Save(const IndexKey& key, const Index& index) const;

  // OK, too, if none is kept.
  absl::Status Remove(const IndexKey& key) const;

 private:
  std::string PathOf(const IndexKey& key) const;

  const std::string directory_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_STORE_H_
