// The parser feeds the walk with the pages of each read, and turns entries into
// records. Reads are longer than a page where the pages of the tree lie close
// together (ReadLength).
//
// When the walk has succeeded or failed, the parser reads the meta pages once
// more. If the last transaction is still the same, no page of the tree was
// reused during the scan, and the walk's result is valid.
#include "server/dataset/lmdb/lmdb_parser.h"

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/lmdb/lmdb_page.h"

namespace forebay::dataset::lmdb {

absl::StatusOr<std::unique_ptr<LmdbParser>> LmdbParser::Create(
    const storage::ListedObject& file, const ReadSizes& read_sizes,
    const std::string& database, base::WorkingMemory* memory) {
  FOREBAY_ASSIGN_OR_RETURN(
      LmdbWalk walk, LmdbWalk::Create(file.name, file.version.size, database));
  return std::unique_ptr<LmdbParser>(
      new LmdbParser(file.name, std::move(walk), read_sizes, memory));
}

std::optional<ByteRange> LmdbParser::next_read() const {
  if (over_) return std::nullopt;
  const auto wanted = walk_.wanted();
  if (!wanted.has_value()) {
    const auto metas = walk_.metas();
    FOREBAY_CHECK(metas.has_value());
    return ByteRange{metas->offset, metas->length};
  }
  return read_length_.For({wanted->offset, wanted->length}, walk_.used_bytes());
}

absl::Status LmdbParser::Take(absl::Span<const std::uint8_t> bytes) {
  const auto read = next_read();
  FOREBAY_CHECK(read.has_value() && bytes.size() == read->length);
  if (walk_.wanted().has_value()) return TakePages(*read, bytes);
  over_ = true;
  absl::Status is_last =
      CheckTransaction(object_, bytes, walk_.page_bytes(), walk_.transaction());
  // A later transaction (FAILED_PRECONDITION) explains any damage that the walk
  // found. Without such a transaction, the walk's error is returned if there is
  // one: that error tells the offset of the damage.
  const bool is_cause = absl::IsFailedPrecondition(is_last) || walked_.ok();
  return is_cause ? is_last : walked_;
}

// Moves entries to the records page by page, so that only the entries of one
// page are held twice.
absl::Status LmdbParser::TakePages(const ByteRange& read,
                                   absl::Span<const std::uint8_t> bytes) {
  auto wanted = walk_.wanted();
  while (wanted.has_value() && wanted->offset >= read.offset &&
         wanted->offset - read.offset <= bytes.size() &&
         wanted->length <= bytes.size() - (wanted->offset - read.offset)) {
    entries_.clear();
    const absl::Status seen = walk_.Parse(
        wanted->offset,
        bytes.subspan(wanted->offset - read.offset, wanted->length), &entries_);
    if (!seen.ok()) return EndWalk(seen);
    for (const LmdbEntry& entry : entries_) FOREBAY_RETURN_IF_ERROR(Add(entry));
    wanted = walk_.wanted();
  }
  if (wanted.has_value())
    read_length_.Adapt(read, {wanted->offset, wanted->length});
  return absl::OkStatus();
}

// The walk may have failed because a writer changed pages during the scan. The
// parser therefore reads the meta pages again before it reports damage.
absl::Status LmdbParser::EndWalk(absl::Status status) {
  walked_ = std::move(status);
  return walk_.metas().has_value() ? absl::OkStatus() : walked_;
}

absl::Status LmdbParser::Add(const LmdbEntry& entry) {
  FOREBAY_CHECK(entry.offset >= kBytesBeforeValue);
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.begins, 1));
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.ends, 1));
  // The error of a key that is too long needs the file's name. The error of the
  // memory budget must not name a file.
  if (const absl::Status added = keys_.Add(entry.key, *memory_); !added.ok()) {
    return absl::IsResourceExhausted(added) ? added
                                            : base::Annotate(added, object_);
  }
  records_.begins.push_back(entry.offset - kBytesBeforeValue);
  records_.ends.push_back(entry.offset + entry.length);
  return absl::OkStatus();
}

records::FileRecords LmdbParser::TakeRecords() {
  records_.keys = keys_.Take();
  records_.transaction_id = TransactionIdOf(walk_.transaction());
  return std::move(records_);
}

absl::Status CheckTransaction(const std::string& object,
                              absl::Span<const std::uint8_t> metas,
                              std::uint64_t page_bytes,
                              std::uint64_t transaction) {
  FOREBAY_CHECK(page_bytes <= metas.size());
  const auto newest = NewestLmdbTransaction(metas, metas.subspan(page_bytes));
  if (!newest.ok()) return base::Annotate(newest.status(), object);
  if (*newest == transaction) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(object, ": was written to while it was indexed"));
}

}  // namespace forebay::dataset::lmdb
