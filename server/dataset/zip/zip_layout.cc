#include "server/dataset/zip/zip_layout.h"

#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/object_revalidation.h"
#include "server/dataset/zip/zip_parser.h"

namespace forebay::dataset::zip {
namespace {

// Parses an archive's directory again, only for its digest.
class ZipRevalidation final : public ObjectRevalidation {
 public:
  ZipRevalidation(std::shared_ptr<const ZipIndex> index,
                  base::MemoryBudget* budget, const storage::ReadRequest& read,
                  storage::ByteSource& source, Done done)
      : ObjectRevalidation(read, source, budget, "revalidating a zip archive",
                           std::move(done)),
        index_(std::move(index)) {}

 private:
  absl::StatusOr<ObjectParser*> Parse(base::WorkingMemory* memory) override {
    FOREBAY_ASSIGN_OR_RETURN(
        parser_, ZipParser::Create({object(), version()},
                                   ZipParser::Keep::kDigest, memory));
    return parser_.get();
  }

  bool Accept(const storage::Revision& revision) override {
    return index_->Accept(object(), revision, parser_->TakeContents().digest);
  }

  const std::shared_ptr<const ZipIndex> index_;
  std::unique_ptr<ZipParser> parser_;
};

}  // namespace

void ZipLayout::Revalidate(
    const storage::ReadRequest& read, storage::ByteSource& source,
    std::function<void(absl::StatusOr<storage::Revision>)> done) const {
  const storage::Revision known = index_->RevisionOf(read.object);
  // If the revisions differ, another revalidation of the archive has ended
  // meanwhile.
  if (known != read.version.revision) return done(known);
  std::make_shared<ZipRevalidation>(index_, budget_, read, source,
                                    std::move(done))
      ->Begin();
}

}  // namespace forebay::dataset::zip
