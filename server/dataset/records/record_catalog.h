#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_CATALOG_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_CATALOG_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index_cache.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/opening.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/records/record_index_store.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// Describes a dataset of files of records, and how to scan it.
struct RecordRequest {
  using Files = std::vector<storage::ListedObject>;
  using FormatPtr = std::shared_ptr<const RecordFormat>;

  std::shared_ptr<const storage::Root> root;
  // A text that tells this dataset from others below the same root: the files'
  // patterns, and which fields of the records are wanted.
  std::string name;
  // Lists the files, in order and in their present versions, and counts the
  // list in the WorkingMemory.
  std::function<absl::StatusOr<Files>(base::WorkingMemory&,
                                      const std::stop_token&)>
      list;
  // Finds the format of the records in these files. It may read the files.
  std::function<absl::StatusOr<FormatPtr>(const Files&, base::WorkingMemory&,
                                          const std::stop_token&)>
      find_format;
  // Makes a format from its RecordFormat::text(). DATA_LOSS: the text is
  // malformed.
  std::function<absl::StatusOr<FormatPtr>(std::string_view text)> make_format;
  storage::ByteSource* source = nullptr;
  std::size_t files_at_once = 16;  // scanned in parallel; at least 1
  ReadSizes read_sizes = {};
  // Whether files' transaction ids (storage::Revision) are part of their
  // versions, if the format has such ids. If false, a file's size or time must
  // change whenever the file changes.
  bool reads_transaction_ids = false;
};

// Opens datasets of files of records. Each call of Open lists the files anew.
// While the list has the same files in the same versions, Open shares their
// index in memory, or loads it from disk; otherwise it scans the files.
//
// Thread-safe. Owns nothing that it hands out. Open blocks for the listing, for
// reads, and for another Open of the same files. It returns soon after
// `opening.stop` is requested, unless other openings wait for the same index.
class RecordCatalog {
 public:
  // Saves indexes in `index_directory`; if it is empty, indexes are in memory
  // only. `budget` outlives the catalog and the datasets. `index_cache`
  // outlives the catalog; if it is null, idle indexes are not kept.
  RecordCatalog(const std::string& index_directory, base::MemoryBudget* budget,
                IndexCache* index_cache = nullptr)
      : budget_(budget),
        index_cache_(index_cache),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<RecordIndexStore>(
                                             index_directory, budget)) {}

  // Opens the dataset. Adds a sentence to `warnings` for each failure that did
  // no harm. Errors name the root. NOT_FOUND: there are no files. CANCELLED:
  // the opening was stopped. RESOURCE_EXHAUSTED: the budget has no room.
  // Others: those of the request's functions, of its parsers and of
  // ScanObjects.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const RecordRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const RecordIndex>;
  using Search = SingleFlight<std::string, RecordIndex>;

  // Finds the index by FindOnce, and tries again if files change meanwhile.
  absl::StatusOr<IndexPtr> FindIndex(const RecordRequest& request,
                                     const std::string& name, IndexPtr previous,
                                     std::vector<std::string>* warnings,
                                     const std::stop_token& stop) const;
  // Returns `previous` if it still fits the files. Otherwise loads the index
  // from disk, or scans the files. Resets `previous` before a scan, to free its
  // memory.
  absl::StatusOr<IndexPtr> FindOnce(const RecordRequest& request,
                                    const std::string& name, IndexPtr& previous,
                                    std::vector<std::string>* warnings,
                                    const std::stop_token& stop) const;
  // Finds the records of all files, and builds the index.
  absl::StatusOr<IndexPtr> Scan(const RecordRequest& request,
                                const std::string& name,
                                const RecordRequest::Files& files,
                                base::WorkingMemory& memory,
                                const std::stop_token& stop) const;
  // Whether all files still have the transaction ids that the index records.
  absl::StatusOr<bool> HasTransactionIds(const RecordRequest& request,
                                         const IndexPtr& index,
                                         const std::stop_token& stop) const;
  // Loads the index from disk. Returns null if the disk has no index of these
  // files in these versions.
  IndexPtr Load(const RecordRequest& request, const std::string& name,
                const RecordRequest::Files& files,
                std::vector<std::string>* warnings) const;

  base::MemoryBudget* const budget_;
  IndexCache* const index_cache_;
  const std::optional<RecordIndexStore> store_;
  Search search_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_CATALOG_H_
