#include "server/dataset/records/record_pieces.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/gathered/gathered_root.h"

namespace forebay::dataset::records {
namespace {

using storage::gathered::Piece;

// Appends a part of a record to `pieces`. `record` has the pieces of the
// record. The part begins at byte `skip` of the record, and has at most
// `length` bytes. Returns the number of bytes of the part.
std::uint64_t AddPart(const std::vector<Piece>& record, std::uint64_t skip,
                      std::uint64_t length, std::vector<Piece>* pieces) {
  std::uint64_t added = 0;
  for (Piece piece : record) {
    const std::uint64_t cut = std::min(skip, piece.length);
    skip -= cut;
    piece.offset += cut;
    piece.length = std::min(piece.length - cut, length - added);
    if (piece.length == 0) continue;
    pieces->push_back(piece);
    added += piece.length;
  }
  return added;
}

}  // namespace

// In reads of gathered records, the file's size includes its virtual extents.
// Returns the size of the file itself.
std::uint64_t RecordPieces::OwnSize(const std::string& object,
                                    std::uint64_t size) const {
  const std::optional<std::size_t> file = index_->FileOf(object);
  return file.has_value() && size == index_->GatheredSize(*file)
             ? index_->FileAt(*file).version.size
             : size;
}

absl::StatusOr<std::vector<Piece>> RecordPieces::Find(
    const std::string& object, std::uint64_t offset,
    std::uint64_t length) const {
  const std::optional<std::size_t> file = index_->FileOf(object);
  if (!file.has_value()) return absl::DataLossError("is not what was indexed");
  const std::uint64_t size = index_->FileAt(*file).version.size;
  std::vector<Piece> pieces;
  while (length > 0) {
    const std::uint64_t record = index_->GatheredAt(*file, offset);
    if (record == index_->size())
      return absl::DataLossError("is indexed without some of its pieces");
    const RecordIndex::Extent extent = index_->ExtentOf(record);
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<Piece> all,
                             format_->PiecesOf(index_->KeyOf(record)));
    // The key comes from an untrusted index file. So its pieces are checked
    // against the file and the extent.
    std::uint64_t bytes = 0;
    for (const Piece& piece : all) {
      if (piece.length == 0 || piece.offset > size ||
          piece.length > size - piece.offset ||
          piece.length > extent.length - bytes)
        return absl::DataLossError(
            "is indexed in pieces that it does not have");
      bytes += piece.length;
    }
    if (bytes != extent.length || offset < extent.offset)
      return absl::DataLossError("is indexed in other pieces than it has");
    const std::uint64_t added =
        AddPart(all, offset - extent.offset, length, &pieces);
    offset += added;
    length -= added;
  }
  return pieces;
}

std::shared_ptr<const storage::Root> WithPieces(
    std::shared_ptr<const storage::Root> root,
    std::shared_ptr<const RecordIndex> index,
    std::shared_ptr<const RecordFormat> format) {
  if (!index->gathers()) return root;
  const Version& version = index->version();
  const std::string name = absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(version.data()), version.size()));
  return std::make_shared<const storage::gathered::GatheredRoot>(
      std::move(root),
      std::make_shared<const RecordPieces>(std::move(index), std::move(format)),
      name);
}

}  // namespace forebay::dataset::records
