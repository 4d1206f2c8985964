#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_LAYOUT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/dataset/records/record_format.h"
#include "server/dataset/records/record_index.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::records {

// The layout of an index's files. Looks for the records of a file again after
// it was touched. If they are where they were, the index knows it by its new
// ctime from then on.
//
// Threads, blocking and errors are as ObjectLayout says. Counts what it reads
// in the budget, which outlives it.
class RecordLayout final : public storage::ObjectLayout {
 public:
  RecordLayout(std::shared_ptr<const RecordIndex> index,
               std::shared_ptr<const RecordFormat> format,
               base::MemoryBudget* budget)
      : index_(std::move(index)), format_(std::move(format)), budget_(budget) {}

  std::optional<std::uint64_t> FindMark(const ReadPart& read) const override {
    return format_->FindMark(read);
  }
  void LookAgain(const storage::ReadRequest& read, storage::ByteSource& source,
                 std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override;

 private:
  const std::shared_ptr<const RecordIndex> index_;
  const std::shared_ptr<const RecordFormat> format_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_LAYOUT_H_
