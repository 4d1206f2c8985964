#ifndef FOREBAY_SERVER_DATASET_INDEX_STORE_H_
#define FOREBAY_SERVER_DATASET_INDEX_STORE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/base/memory_budget.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/folder_probe.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset {

// Indexes of one format on disk, one file a dataset (own_file.h), in a
// directory that only the daemon's user may write. Thread-safe. Load and Save
// block for the disk, but do not begin if that does not answer (folder_probe.h,
// UNAVAILABLE). Errors name the file or the directory.
class IndexStore {
 public:
  // The first write makes `directory`, for its owner alone. The budget outlives
  // the store and the indexes. `ending`: of the files' names.
  IndexStore(std::string directory, std::string ending,
             base::MemoryBudget* budget)
      : directory_(std::move(directory)),
        ending_(std::move(ending)),
        budget_(budget),
        probe_(directory_) {}

  // The path of a dataset's file. `dataset`, any text, tells datasets apart.
  std::string PathOf(std::string_view dataset) const;

  // UNAVAILABLE: the directory does not answer.
  absl::Status Check() const { return probe_.Check(); }

  // Returns what `decode` makes of the file; it takes an IndexFileReader and a
  // WorkingMemory. Errors: those of IndexFileReader::Open, and of `decode`.
  template <typename Decode>
  auto Load(std::string_view dataset, const Decode& decode) const
      -> decltype(decode(std::declval<IndexFileReader&>(),
                         std::declval<base::WorkingMemory&>())) {
    FOREBAY_RETURN_IF_ERROR(Check());
    const std::string path = PathOf(dataset);
    base::WorkingMemory memory(budget_, "a kept index");
    FOREBAY_ASSIGN_OR_RETURN(IndexFileReader file, IndexFileReader::Open(path));
    auto index = decode(file, memory);
    if (!index.ok()) return base::Annotate(index.status(), path);
    return index;
  }
  // The error of an index that is of other objects than there are now; `what`
  // they are, for people.
  absl::Status OfOthers(std::string_view dataset, std::string_view what) const;

  // Writes what `encode` makes, which takes so many bytes of memory meanwhile
  // and a little more. On failure the former index is still there. Else the
  // folder is trimmed (index_folder.h).
  // RESOURCE_EXHAUSTED: the budget has no room for it. Others: the disk's.
  absl::Status Save(std::string_view dataset, std::uint64_t bytes,
                    absl::FunctionRef<std::string()> encode) const;

 private:
  const std::string directory_;
  const std::string ending_;
  base::MemoryBudget* const budget_;
  const FolderProbe probe_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_STORE_H_
