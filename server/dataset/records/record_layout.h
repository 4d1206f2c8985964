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

// The layout of an index's files. If a read finds that a file's ctime has
// changed, Revalidate looks for the file's records again. If the records are
// where the index has them, the index records the new ctime.
//
// For threads, blocking and errors, see ObjectLayout. Shares the index and the
// format. Counts the memory of a revalidation in the budget, which outlives the
// layout.
class RecordLayout final : public storage::ObjectLayout {
 public:
  RecordLayout(std::shared_ptr<const RecordIndex> index,
               std::shared_ptr<const RecordFormat> format,
               base::MemoryBudget* budget)
      : index_(std::move(index)), format_(std::move(format)), budget_(budget) {}

  std::optional<std::uint64_t> FindTransactionId(
      const ReadPart& read) const override {
    return format_->FindTransactionId(read);
  }
  void Revalidate(const storage::ReadRequest& read, storage::ByteSource& source,
                  std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override;

 private:
  const std::shared_ptr<const RecordIndex> index_;
  const std::shared_ptr<const RecordFormat> format_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_LAYOUT_H_
