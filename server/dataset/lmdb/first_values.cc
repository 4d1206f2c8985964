#include "server/dataset/lmdb/first_values.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/lmdb/lmdb_parser.h"
#include "server/dataset/lmdb/lmdb_walk.h"
#include "server/dataset/range_read.h"
#include "server/dataset/records/shown_key.h"

namespace forebay::dataset::lmdb {
namespace {

// Bounds of the values that a guess reads. Each value takes a read of its own.
constexpr std::size_t kMostValues = 16;
constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;

// Reads the first values of one file.
class Start {
 public:
  Start(const ValueSource& source, const storage::ListedObject& file,
        base::WorkingMemory& memory, const std::stop_token& stop)
      : source_(source), file_(file), memory_(memory), stop_(stop) {}

  // Returns the first values, or none if the database is empty. If a writer has
  // ended a transaction meanwhile, the error says so, whatever else failed;
  // LmdbParser::Take explains why.
  absl::StatusOr<FirstValues> Read() const {
    FOREBAY_ASSIGN_OR_RETURN(
        LmdbWalk walk,
        LmdbWalk::Create(file_.name, file_.version.size, source_.database));
    FirstValues found;
    absl::Status status = Fill(walk, &found);
    if (walk.metas().has_value()) {
      const absl::Status is_last = Check(walk);
      if (absl::IsFailedPrecondition(is_last) || status.ok()) status = is_last;
    }
    if (!status.ok()) return status;
    return found;
  }

 private:
  // Walks to the first leaf that has entries, and reads their values. The
  // memory counts each page on the way only until the walk has taken it.
  absl::Status Fill(LmdbWalk& walk, FirstValues* found) const {
    std::vector<LmdbEntry> entries;
    while (const auto wanted = walk.wanted()) {
      if (!entries.empty()) break;
      FOREBAY_ASSIGN_OR_RETURN(const base::Bytes bytes,
                               ReadBytes(wanted->offset, wanted->length));
      FOREBAY_RETURN_IF_ERROR(
          walk.Parse(wanted->offset, bytes.span(), &entries));
      memory_.Shrink(storage::HeldBytes(wanted->length));
    }
    std::uint64_t left = kMostBytes;
    for (const LmdbEntry& entry : entries) {
      if (found->values.size() == kMostValues) break;
      if (!found->values.empty() && entry.length > left) break;
      if (found->values.empty())
        found->first = absl::StrCat("entry ", records::ShownKey(entry.key));
      left -= std::min(left, entry.length);
      FOREBAY_ASSIGN_OR_RETURN(base::Bytes bytes,
                               ReadBytes(entry.offset - kBytesBeforeValue,
                                         entry.length + kBytesBeforeValue));
      found->values.push_back(bytes.span().subspan(kBytesBeforeValue));
      found->read.push_back(std::move(bytes));
    }
    return absl::OkStatus();
  }

  // Checks that no transaction ended since the walk began.
  absl::Status Check(const LmdbWalk& walk) const {
    const auto range = walk.metas();
    FOREBAY_CHECK(range.has_value());
    FOREBAY_ASSIGN_OR_RETURN(const base::Bytes metas,
                             ReadBytes(range->offset, range->length));
    return CheckTransaction(file_.name, metas.span(), walk.page_bytes(),
                            walk.transaction());
  }

  absl::StatusOr<base::Bytes> ReadBytes(std::uint64_t offset,
                                        std::uint64_t length) const {
    return ReadRange({*source_.source,
                      source_.root,
                      file_,
                      {offset, length},
                      source_.uncached},
                     &memory_, stop_);
  }

  const ValueSource& source_;
  const storage::ListedObject& file_;
  base::WorkingMemory& memory_;
  const std::stop_token& stop_;
};

}  // namespace

absl::StatusOr<FirstValues> ReadFirstValues(
    const ValueSource& source, absl::Span<const storage::ListedObject> files,
    base::WorkingMemory& memory, const std::stop_token& stop) {
  for (const storage::ListedObject& file : files) {
    FOREBAY_ASSIGN_OR_RETURN(FirstValues found,
                             Start(source, file, memory, stop).Read());
    if (!found.values.empty()) {
      found.first = absl::StrCat(file.name, ": ", found.first);
      return found;
    }
  }
  return FirstValues();
}

}  // namespace forebay::dataset::lmdb
