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
#include "server/dataset/kept_indexes.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/opening.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/dataset/records/record_index_store.h"
#include "server/dataset/single_flight.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// A dataset of files of records, and how to scan it.
struct RecordRequest {
  using Files = std::vector<storage::ListedObject>;
  using FormatPtr = std::shared_ptr<const RecordFormat>;

  std::shared_ptr<const storage::Root> root;
  // Tells apart datasets below one root: by their files' patterns and by what
  // is wanted of the records.
  std::string name;
  // Returns the files, in their order and present versions, counted in the
  // memory.
  std::function<absl::StatusOr<Files>(base::WorkingMemory&,
                                      const std::stop_token&)>
      list;
  // Finds the format of the records in these files, which it may read.
  std::function<absl::StatusOr<FormatPtr>(const Files&, base::WorkingMemory&,
                                          const std::stop_token&)>
      find_format;
  // Makes a format again, of its text. DATA_LOSS: there is no such format.
  std::function<absl::StatusOr<FormatPtr>(std::string_view text)> make_format;
  storage::ByteSource* source = nullptr;
  std::size_t files_at_once = 16;  // at least 1
  ReadSizes read_sizes = {};
  // Whether the files' versions have marks, if the format has some. Else their
  // sizes and times tell of every change.
  bool marks = false;
};

// All datasets of files of records that are open. Each Open lists the files
// anew. While they are the same files in the same versions, it shares their
// index in memory, or finds it on disk.
//
// Thread-safe; owns nothing that it hands out. Open blocks for the listing and
// for reads, and for another Open of the same files, but returns soon after its
// stop is requested unless others wait for the same.
class RecordCatalog {
 public:
  // Saves indexes in that directory. If it is empty, they are in memory only.
  // The budget outlives the catalog and the datasets; `kept`, unless it is
  // null, the catalog.
  RecordCatalog(const std::string& index_directory, base::MemoryBudget* budget,
                KeptIndexes* kept = nullptr)
      : budget_(budget),
        kept_(kept),
        store_(index_directory.empty() ? std::nullopt
                                       : std::make_optional<RecordIndexStore>(
                                             index_directory, budget)) {}

  // Adds to `warnings`, a sentence each, what failed without harm. Errors name
  // the root: those of the request's functions, of its parsers and of
  // ScanObjects; NOT_FOUND: there are no files; CANCELLED: stopped;
  // RESOURCE_EXHAUSTED: the budget has no room.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const RecordRequest& request, std::vector<std::string>* warnings,
      const Opening& opening);

 private:
  using IndexPtr = std::shared_ptr<const RecordIndex>;
  using Search = SingleFlight<std::string, RecordIndex>;

  absl::StatusOr<IndexPtr> FindIndex(const RecordRequest& request,
                                     const std::string& name, IndexPtr known,
                                     std::vector<std::string>* warnings,
                                     const std::stop_token& stop) const;
  // Lets `known` go if that is not the index.
  absl::StatusOr<IndexPtr> FindOnce(const RecordRequest& request,
                                    const std::string& name, IndexPtr& known,
                                    std::vector<std::string>* warnings,
                                    const std::stop_token& stop) const;
  absl::StatusOr<IndexPtr> Scan(const RecordRequest& request,
                                const std::string& name,
                                const RecordRequest::Files& files,
                                base::WorkingMemory& memory,
                                const std::stop_token& stop) const;
  absl::StatusOr<bool> HasMarks(const RecordRequest& request,
                                const IndexPtr& index,
                                const std::stop_token& stop) const;
  IndexPtr Load(const RecordRequest& request, const std::string& name,
                const RecordRequest::Files& files,
                std::vector<std::string>* warnings) const;

  base::MemoryBudget* const budget_;
  KeptIndexes* const kept_;
  const std::optional<RecordIndexStore> store_;
  Search search_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_CATALOG_H_
