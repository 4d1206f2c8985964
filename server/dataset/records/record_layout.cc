#include "server/dataset/records/record_layout.h"

#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/compressed/piece_digest.h"
#include "server/dataset/object_revalidation.h"

namespace forebay::dataset::records {
namespace {

// Parses a file again to find its records. If the file is compressed, only
// computes the checksum of its pieces.
class RecordRevalidation final : public ObjectRevalidation {
 public:
  RecordRevalidation(std::shared_ptr<const RecordIndex> index,
                     std::shared_ptr<const RecordFormat> format,
                     base::MemoryBudget* budget,
                     const storage::ReadRequest& read,
                     storage::ByteSource& source, Done done)
      : ObjectRevalidation(read, source, budget,
                           "revalidating a file of records", std::move(done)),
        index_(std::move(index)),
        format_(std::move(format)) {}

 private:
  absl::StatusOr<ObjectParser*> Parse(base::WorkingMemory* memory) override {
    const auto& points = index_->points();
    const auto* const compressed =
        points == nullptr ? nullptr : points->Find(object());
    if (compressed != nullptr)
      return &pieces_.emplace(version().size, points->KeepsPieces(*compressed));
    FOREBAY_ASSIGN_OR_RETURN(parser_,
                             format_->Parse({object(), version()}, {}, memory));
    return parser_.get();
  }

  bool Accept(const storage::Revision& revision) override {
    if (pieces_.has_value())
      return index_->AcceptCompressed(object(), revision, pieces_->crc32c());
    return index_->Accept(object(), revision, parser_->TakeRecords());
  }

  const std::shared_ptr<const RecordIndex> index_;
  const std::shared_ptr<const RecordFormat> format_;
  std::unique_ptr<RecordParser> parser_;
  std::optional<compressed::PieceParser> pieces_;  // if it is compressed
};

}  // namespace

void RecordLayout::Revalidate(
    const storage::ReadRequest& read, storage::ByteSource& source,
    std::function<void(absl::StatusOr<storage::Revision>)> done) const {
  const storage::Revision known = index_->RevisionOf(read.object);
  // If the revisions differ, another revalidation of the file has ended
  // meanwhile.
  if (known != read.version.revision) return done(known);
  std::make_shared<RecordRevalidation>(index_, format_, budget_, read, source,
                                       std::move(done))
      ->Begin();
}

}  // namespace forebay::dataset::records
