#include "server/dataset/lmdb/lmdb_format.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/lmdb/lmdb_page.h"
#include "server/dataset/lmdb/lmdb_parser.h"
#include "server/dataset/records/shown_key.h"

namespace forebay::dataset::lmdb {
namespace {

// The start of text(): the format's name and a 0 byte. The database's name,
// another 0 byte and the text of the fields follow.
constexpr std::string_view kStart("lmdb\0", 5);

}  // namespace

LmdbFormat::LmdbFormat(std::string database, EntryFields fields)
    : database_(std::move(database)),
      fields_(std::move(fields)),
      text_(absl::StrCat(std::string(kStart), database_, std::string(1, '\0'),
                         fields_.text())) {}

absl::StatusOr<std::shared_ptr<const LmdbFormat>> LmdbFormat::Parse(
    std::string_view text) {
  const std::size_t end =
      text.starts_with(kStart) ? text.find('\0', kStart.size()) : text.npos;
  if (end == text.npos)
    return absl::DataLossError("is of records that are not entries of LMDB");
  FOREBAY_ASSIGN_OR_RETURN(EntryFields fields,
                           EntryFields::Parse(text.substr(end + 1)));
  return std::make_shared<const LmdbFormat>(
      std::string(text.substr(kStart.size(), end - kStart.size())),
      std::move(fields));
}

absl::StatusOr<std::unique_ptr<records::RecordParser>> LmdbFormat::Parse(
    const storage::ListedObject& file, const ReadSizes& read_sizes,
    base::WorkingMemory* memory) const {
  return LmdbParser::Create(file, read_sizes, database_, memory);
}

// Reads both meta pages. The first one tells the page size, which is the offset
// of the second one.
std::optional<std::uint64_t> LmdbFormat::FindTransactionId(
    const storage::ObjectLayout::ReadPart& read) const {
  std::array<std::uint8_t, kLmdbMetaBytes> first;
  if (!read(0, absl::MakeSpan(first))) return std::nullopt;
  const auto meta = ParseLmdbMeta(first, 0);
  if (!meta.ok()) return std::nullopt;
  std::array<std::uint8_t, kLmdbMetaBytes> second;
  if (!read(meta->page_bytes, absl::MakeSpan(second))) return std::nullopt;
  const auto transaction = NewestLmdbTransaction(first, second);
  if (!transaction.ok()) return std::nullopt;
  return TransactionIdOf(*transaction);
}

std::vector<Field> LmdbFormat::FieldsOf(
    const records::RecordIndex& index) const {
  // Records in an index from a damaged file may be shorter than
  // kBytesBeforeValue.
  const auto value_bytes = [](std::uint64_t record_bytes) {
    return std::max(record_bytes, kBytesBeforeValue) - kBytesBeforeValue;
  };
  return fields_.FieldsOf(index.longest_key(),
                          {.shortest = value_bytes(index.lengths().shortest),
                           .longest = value_bytes(index.lengths().longest)});
}

absl::Status LmdbFormat::ReadValues(absl::Span<const std::uint8_t> record,
                                    absl::Span<FieldValue> values,
                                    ValueBuffers* buffers) const {
  if (record.size() < kBytesBeforeValue)
    return absl::DataLossError("is not a value of LMDB");
  return fields_.Read(record, record.subspan(kBytesBeforeValue), values,
                      buffers);
}

std::string LmdbFormat::NameOf(const records::RecordIndex& index,
                               std::uint64_t record) const {
  if (!index.has_keys()) return RecordFormat::NameOf(index, record);
  return absl::StrCat("entry ", records::ShownKey(index.KeyOf(record)));
}

}  // namespace forebay::dataset::lmdb
