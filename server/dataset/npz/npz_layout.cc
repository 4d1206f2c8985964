#include "server/dataset/npz/npz_layout.h"

#include <cstddef>

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/object_revalidation.h"
#include "server/dataset/zip/zip_parser.h"

namespace forebay::dataset::npz {
namespace {

// A revalidation of one file: parses the directory and keeps only its digest.
// The base class makes the reads and the callback.
class NpzRevalidation final : public ObjectRevalidation {
 public:
  NpzRevalidation(std::shared_ptr<const NpzLayout> layout,
                  base::MemoryBudget* budget, const storage::ReadRequest& read,
                  storage::ByteSource& source, Done done)
      : ObjectRevalidation(read, source, budget, "revalidating a .npz file",
                           std::move(done)),
        layout_(std::move(layout)) {}

 private:
  absl::StatusOr<ObjectParser*> Parse(base::WorkingMemory* memory) override {
    FOREBAY_ASSIGN_OR_RETURN(
        parser_, zip::ZipParser::Create({object(), version()},
                                        zip::ZipParser::Keep::kDigest, memory));
    return parser_.get();
  }

  bool Accept(const storage::Revision& revision) override {
    return layout_->Accept(object(), revision, parser_->TakeContents().digest);
  }

  const std::shared_ptr<const NpzLayout> layout_;
  std::unique_ptr<zip::ZipParser> parser_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const NpzLayout>> NpzLayout::Create(
    std::shared_ptr<const npy::NpyIndex> index,
    absl::Span<const Version> directories, base::WorkingMemory& memory,
    base::MemoryBudget* budget) {
  FOREBAY_CHECK(directories.size() == index->files());
  FOREBAY_ASSIGN_OR_RETURN(base::MemoryReservation reservation,
                           memory.Keep(directories.size() * sizeof(Version)));
  return std::shared_ptr<const NpzLayout>(new NpzLayout(
      std::move(index), directories, std::move(reservation), budget));
}

void NpzLayout::Revalidate(
    const storage::ReadRequest& read, storage::ByteSource& source,
    std::function<void(absl::StatusOr<storage::Revision>)> done) const {
  const storage::Revision known = index_->RevisionOf(read.object);
  // If the revisions differ, another revalidation of the file has ended
  // meanwhile, and the index has a newer revision already.
  if (known != read.version.revision) return done(known);
  std::make_shared<NpzRevalidation>(shared_from_this(), budget_, read, source,
                                    std::move(done))
      ->Begin();
}

bool NpzLayout::Accept(std::string_view path, const storage::Revision& revision,
                       const Version& directory) const {
  return index_->AcceptIf(path, revision, [&](std::size_t file) {
    return directories_[file] == directory;
  });
}

}  // namespace forebay::dataset::npz
