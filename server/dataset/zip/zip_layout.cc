#include "server/dataset/zip/zip_layout.h"

#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/object_rescan.h"
#include "server/dataset/zip/zip_parser.h"

namespace forebay::dataset::zip {
namespace {

class ZipRescan final : public ObjectRescan {
 public:
  ZipRescan(std::shared_ptr<const ZipIndex> index, base::MemoryBudget* budget,
            const storage::ReadRequest& read, storage::ByteSource& source,
            Done done)
      : ObjectRescan(read, source, budget, "another look at a zip archive",
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

void ZipLayout::LookAgain(
    const storage::ReadRequest& read, storage::ByteSource& source,
    std::function<void(absl::StatusOr<storage::Revision>)> done) const {
  const storage::Revision known = index_->RevisionOf(read.object);
  // Another look has ended meanwhile.
  if (known != read.version.revision) return done(known);
  std::make_shared<ZipRescan>(index_, budget_, read, source, std::move(done))
      ->Begin();
}

}  // namespace forebay::dataset::zip
