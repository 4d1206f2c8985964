#include "server/dataset/shards/shard_layout.h"

#include <memory>
#include <optional>
#include <utility>

#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/compressed/piece_digest.h"
#include "server/dataset/object_revalidation.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_parser.h"

namespace forebay::dataset::shards {
namespace {

// Parses a shard again to find its samples. If the shard is compressed, only
// computes the checksum of its pieces.
class ShardRevalidation final : public ObjectRevalidation {
 public:
  ShardRevalidation(std::shared_ptr<const ShardIndex> index,
                    base::MemoryBudget* budget,
                    const storage::ReadRequest& read,
                    storage::ByteSource& source, Done done)
      : ObjectRevalidation(read, source, budget, "revalidating a shard",
                           std::move(done)),
        index_(std::move(index)) {}

 private:
  absl::StatusOr<ObjectParser*> Parse(base::WorkingMemory* memory) override {
    const auto& points = index_->points();
    const auto* const compressed =
        points == nullptr ? nullptr : points->Find(object());
    if (compressed != nullptr)
      return &pieces_.emplace(version().size, points->KeepsPieces(*compressed));
    const Shard shard = {object(), version()};
    FOREBAY_ASSIGN_OR_RETURN(
        ShardParser parser,
        ShardParser::Create(shard, &index_->fields(), {}, memory));
    return &parser_.emplace(std::move(parser));
  }

  bool Accept(const storage::Revision& revision) override {
    if (pieces_.has_value())
      return index_->AcceptCompressed(object(), revision, pieces_->crc32c());
    return index_->Accept(object(), revision, parser_->TakeSamples());
  }

  const std::shared_ptr<const ShardIndex> index_;
  std::optional<ShardParser> parser_;
  std::optional<compressed::PieceParser> pieces_;  // if it is compressed
};

}  // namespace

void ShardLayout::Revalidate(const storage::ReadRequest& read,
                             storage::ByteSource& source, Done done) const {
  const storage::Revision known = index_->RevisionOf(read.object);
  // If the revisions differ, another revalidation of the shard has ended
  // meanwhile.
  if (known != read.version.revision) return done(known);
  std::make_shared<ShardRevalidation>(index_, budget_, read, source,
                                      std::move(done))
      ->Begin();
}

}  // namespace forebay::dataset::shards
