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

// Saves indexes of one format on disk, each in a file of its own (own_file.h),
// in a directory that only the daemon's user may write.
//
// Thread-safe. Owns nothing but its settings. Load and Save block for the disk.
// Both first check that the disk answers (folder_probe.h), and fail with
// UNAVAILABLE if it does not. Errors name the file or the directory.
class IndexStore {
 public:
  // The names of the files end in `ending`. The first write creates
  // `directory`, which only its owner may use. The budget outlives the store
  // and the indexes.
  IndexStore(std::string directory, std::string ending,
             base::MemoryBudget* budget)
      : directory_(std::move(directory)),
        ending_(std::move(ending)),
        budget_(budget),
        probe_(directory_) {}

  // Returns the path of a dataset's file. `dataset` is any text that tells
  // datasets apart.
  std::string PathOf(std::string_view dataset) const;

  // Checks that the directory's file system answers. UNAVAILABLE: it does not.
  absl::Status Check() const { return probe_.Check(); }

  // Returns the index that `decode` reads from the dataset's file. `decode`
  // takes an IndexFileReader and a WorkingMemory. Errors: those of Check, of
  // IndexFileReader::Open, and of `decode`.
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
  // Returns the error (NOT_FOUND) of a saved index whose objects have changed
  // since. `what` names the objects in the message.
  absl::Status OfOthers(std::string_view dataset, std::string_view what) const;

  // Calls `encode`, and writes the text that it returns to the dataset's file.
  // Reserves `bytes` bytes and a little more for this text. Then trims the
  // folder (index_folder.h). If writing fails, the old file stays.
  // RESOURCE_EXHAUSTED: the budget has no room for the encoded index. Others:
  // errors of the disk.
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
