#include "server/dataset/shards/shard_layout.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/bytes.h"
#include "server/base/working_memory.h"
#include "server/dataset/shards/shard.h"
#include "server/dataset/shards/shard_parser.h"

// A rescan is a chain of reads, each begun by the one before. The first takes
// the shard in its present revision. If another read finds a different
// revision, the rescan begins anew.

namespace forebay::dataset::shards {
namespace {

// A shard that is touched again and again cannot be read.
constexpr int kMaxScans = 8;

// The read in flight keeps it alive.
class Rescan final : public std::enable_shared_from_this<Rescan> {
 public:
  using Done = ShardLayout::Done;

  Rescan(std::shared_ptr<const ShardIndex> index, base::MemoryBudget* budget,
         const storage::ReadRequest& read, storage::ByteSource& source,
         Done done)
      : memory_(budget, "another look at a shard"),
        index_(std::move(index)),
        root_(read.root),
        shard_{read.object, read.version},
        purpose_(read.purpose),
        ticket_(read.ticket),
        source_(source),
        done_(std::move(done)) {}

  void Begin() {
    if (++scans_ > kMaxScans) return Fail("is changed again and again");
    seen_ = {.inode = shard_.version.revision.inode, .ctime_nanos = 0};
    auto parser = ShardParser::Create(shard_, &index_->fields(), {}, &memory_);
    if (!parser.ok()) return done_(parser.status());
    parser_.emplace(*std::move(parser));
    Next();
  }

 private:
  void Next() {
    const auto range = parser_->next_read();
    if (!range.has_value()) return End();
    storage::ReadRequest request;
    request.root = root_;
    request.object = shard_.path;
    request.version = shard_.version;
    request.version.revision = seen_;
    request.offset = range->offset;
    request.length = range->length;
    request.purpose = purpose_;
    request.ticket = ticket_;
    request.done = [self = shared_from_this(), length = range->length](
                       const absl::StatusOr<storage::ReadResult>& result) {
      self->Take(result, length);
    };
    source_.Read({&request, 1});
  }

  void Take(const absl::StatusOr<storage::ReadResult>& result,
            std::uint64_t length) {
    if (absl::IsAborted(result.status())) return Begin();
    if (!result.ok()) return done_(result.status());
    seen_ = result->revision;
    if (result->bytes.size() != length) return Fail(kRewritten);
    const absl::Status taken = parser_->Take(result->bytes.span());
    if (absl::IsResourceExhausted(taken)) return done_(taken);
    // The shard is no archive any more, or lacks a chosen field.
    if (!taken.ok()) return Fail(kRewritten);
    Next();
  }

  void End() {
    if (!index_->Accept(shard_.path, seen_, parser_->TakeSamples()))
      return Fail(kRewritten);
    done_(seen_);
  }

  void Fail(std::string_view reason) {
    done_(absl::FailedPreconditionError(
        absl::StrCat(shard_.path, ": ", std::string(reason))));
  }

  static constexpr std::string_view kRewritten =
      "was rewritten since the dataset was indexed";

  base::WorkingMemory memory_;
  const std::shared_ptr<const ShardIndex> index_;
  const std::shared_ptr<const storage::Root> root_;
  const Shard shard_;
  const storage::ReadPurpose purpose_;
  const std::uint64_t ticket_;
  storage::ByteSource& source_;
  const Done done_;
  int scans_ = 0;
  storage::Revision seen_;
  std::optional<ShardParser> parser_;
};

}  // namespace

void ShardLayout::LookAgain(const storage::ReadRequest& read,
                            storage::ByteSource& source, Done done) const {
  const storage::Revision known = index_->RevisionOf(read.object);
  // Another rescan has ended meanwhile.
  if (known != read.version.revision) return done(known);
  std::make_shared<Rescan>(index_, budget_, read, source, std::move(done))
      ->Begin();
}

}  // namespace forebay::dataset::shards
