#include "server/dataset/array_record/first_array_records.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/array_record/chunk.h"
#include "server/dataset/array_record/footer.h"
#include "server/dataset/array_record/footer_finder.h"
#include "server/dataset/range_read.h"

namespace forebay::dataset::array_record {
namespace {

// The most that is read to guess the fields. kMostBytes limits the stored and
// the decompressed bytes of all chunks together. Damaged chunks are skipped,
// but the search ends after kMostDamaged of them.
constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;
constexpr std::size_t kMostRecords = 64;
constexpr std::size_t kMostDamaged = 16;

// Reads the first chunks of one file.
class Start {
 public:
  Start(storage::ByteSource& source,
        const std::shared_ptr<const storage::Root>& root,
        const storage::ListedObject& file, base::WorkingMemory& memory,
        const std::stop_token& stop)
      : source_(source),
        root_(root),
        file_(file),
        memory_(memory),
        stop_(stop) {}

  // Returns the first records, or no records if the file has none. Skips some
  // damaged chunks. If no chunk can be read, returns the error of the first.
  absl::StatusOr<FirstArrayRecords> Read() const {
    auto finder = FooterFinder::Create(file_.version.size, 0, &memory_);
    if (!finder.ok()) return Named(finder.status());
    while (const auto wanted = finder->wanted()) {
      FOREBAY_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadBytes(*wanted));
      const absl::Status seen = finder->Parse(bytes.span());
      if (!seen.ok()) return Named(seen);
      memory_.Shrink(storage::HeldBytes(wanted->length));
    }
    FirstArrayRecords found;
    absl::Status damage;  // error of the first damaged chunk
    std::size_t damaged = 0;
    std::uint64_t left = kMostBytes;
    while (found.records.size() < kMostRecords && damaged < kMostDamaged) {
      const auto chunk = finder->footer()->Next();
      if (!chunk.ok()) return Named(chunk.status());
      if (!chunk->has_value()) break;
      // Both the stored and the decompressed bytes of a chunk count.
      const std::uint64_t bytes =
          (*chunk)->end - (*chunk)->begin + (*chunk)->decoded_bytes;
      if (!found.records.empty() && bytes > left) break;
      const absl::Status added = Add(**chunk, &found);
      if (!added.ok() && !absl::IsDataLoss(added)) return added;
      if (added.ok()) {
        left -= std::min(left, bytes);
      } else {
        ++damaged;
        damage.Update(added);
      }
    }
    if (found.records.empty() && !damage.ok()) return damage;
    return found;
  }

 private:
  // Adds the file's name to every error except that of `memory_`.
  absl::Status Named(const absl::Status& status) const {
    return absl::IsResourceExhausted(status)
               ? status
               : base::Annotate(status, file_.name);
  }

  // Reads a chunk and adds its records.
  absl::Status Add(const ListedChunk& listed, FirstArrayRecords* found) const {
    FOREBAY_ASSIGN_OR_RETURN(
        base::Bytes bytes,
        ReadBytes({listed.begin, listed.end - listed.begin}));
    const auto room =
        [&](std::uint64_t length) -> absl::StatusOr<absl::Span<std::uint8_t>> {
      FOREBAY_RETURN_IF_ERROR(memory_.Grow(length));
      return found->decompressed.Add(length);
    };
    auto chunk =
        Chunk::Read(listed.begin, bytes.span(), listed.decoded_bytes, room);
    if (!chunk.ok()) {
      memory_.Shrink(storage::HeldBytes(listed.end - listed.begin));
      return Named(base::Annotate(chunk.status(),
                                  absl::StrCat("at byte ", listed.begin)));
    }
    while (chunk->left() > 0 && found->records.size() < kMostRecords)
      found->records.push_back(chunk->Next());
    found->read.push_back(std::move(bytes));
    return absl::OkStatus();
  }

  absl::StatusOr<base::Bytes> ReadBytes(const ByteRange& range) const {
    return ReadRange({source_, root_, file_, range}, &memory_, stop_);
  }

  storage::ByteSource& source_;
  const std::shared_ptr<const storage::Root>& root_;
  const storage::ListedObject& file_;
  base::WorkingMemory& memory_;
  const std::stop_token& stop_;
};

}  // namespace

absl::StatusOr<FirstArrayRecords> ReadFirstRecords(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const storage::ListedObject> files, base::WorkingMemory& memory,
    const std::stop_token& stop) {
  for (const storage::ListedObject& file : files) {
    FOREBAY_ASSIGN_OR_RETURN(FirstArrayRecords found,
                             Start(source, root, file, memory, stop).Read());
    if (!found.records.empty()) return found;
  }
  return FirstArrayRecords();
}

}  // namespace forebay::dataset::array_record
