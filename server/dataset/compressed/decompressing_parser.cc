#include "server/dataset/compressed/decompressing_parser.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/crc32c.h"
#include "server/base/status.h"
#include "server/storage/compressed/point_windows.h"
#include "server/storage/compressed/scan_of.h"

// A compressed file is read once, from start to end. Decompressed bytes are
// passed to the inner parser (Pass), which wants some of them and skips others.
// Only the range that the inner parser wants next is buffered (wanted_), so
// memory does not grow with the file. The inner parser's reads must move
// forward: a read must not begin before the bytes that are still buffered.
//
// The size of the decompressed file is unknown until its end, so the inner
// parser begins with kUnknownSize and learns the size in EndAt. If its last
// read reached beyond the end, it then repeats the read up to the end.

namespace forebay::dataset::compressed {
namespace {

using storage::compressed::AccessPoint;
using storage::compressed::CompressOrStore;
using storage::compressed::DecompressedFile;
using storage::compressed::ScanPoint;

// The inner parser asks for short ranges, because it gets bytes that are in
// memory anyway.
constexpr ReadSizes kInnerReads = {.min = 512, .max = 512};

}  // namespace

absl::StatusOr<std::unique_ptr<DecompressingParser>>
DecompressingParser::Create(storage::ListedObject file, InnerFormat format,
                            const ReadSizes& read_sizes,
                            PointFileWriter* writer,
                            base::WorkingMemory* memory) {
  std::unique_ptr<DecompressingParser> parser(new DecompressingParser(
      std::move(file), std::move(format), read_sizes, writer, memory));
  if (parser->size() == 0) FOREBAY_RETURN_IF_ERROR(parser->Begin({}));
  return parser;
}

DecompressingParser::~DecompressingParser() {
  memory_->Shrink(wanted_.capacity());
}

std::optional<ByteRange> DecompressingParser::next_read() const {
  if (inner_ == nullptr) {
    return ByteRange{0,
                     std::min(std::max(read_sizes_.min, kStartBytes), size())};
  }
  if (scan_ == nullptr) return inner_->next_read();
  if (scan_->compressed_bytes() == size()) return std::nullopt;
  return ByteRange{
      scan_->compressed_bytes(),
      std::min(read_sizes_.max, size() - scan_->compressed_bytes())};
}

absl::Status DecompressingParser::Take(absl::Span<const std::uint8_t> bytes) {
  const auto read = next_read();
  FOREBAY_CHECK(read.has_value() && bytes.size() == read->length);
  if (inner_ == nullptr) {
    FOREBAY_RETURN_IF_ERROR(Begin(bytes));
    if (scan_ == nullptr) {
      const auto first = inner_->next_read();
      // `bytes` may lack the range that the inner parser wants first. Then the
      // range is read by a read of its own.
      if (!first.has_value() || first->offset != 0 ||
          first->length > bytes.size())
        return absl::OkStatus();
      return inner_->Take(bytes.first(first->length));
    }
  }
  return scan_ == nullptr ? inner_->Take(bytes) : Decompress(bytes);
}

absl::Status DecompressingParser::Begin(absl::Span<const std::uint8_t> start) {
  const auto compression = format_.compression_of(start);
  if (compression.has_value()) {
    auto scan = storage::compressed::ScanOf(*compression, memory_);
    if (!scan.ok()) return base::Annotate(scan.status(), file_.name);
    scan_ = *std::move(scan);
    decompressed_file_.compression = *compression;
  }
  FOREBAY_ASSIGN_OR_RETURN(inner_, compression.has_value()
                                       ? format_.make(kUnknownSize, kInnerReads)
                                       : format_.make(size(), read_sizes_));
  return absl::OkStatus();
}

absl::Status DecompressingParser::Decompress(
    absl::Span<const std::uint8_t> compressed) {
  pieces_.Take(scan_->compressed_bytes(), compressed);
  // Only zstd files may have pieces, and only files with pieces need the digest
  // of all bytes.
  if (decompressed_file_.compression == storage::compressed::Compression::kZstd)
    whole_.Take(scan_->compressed_bytes(), compressed);
  // The last error of the callbacks. This error names the file already.
  absl::Status failed;
  const absl::Status taken = scan_->Take(
      compressed,
      [&](absl::Span<const std::uint8_t> bytes) {
        failed = Pass(bytes);
        return failed;
      },
      [&](const ScanPoint& point) {
        failed = AddPoint(point);
        return failed;
      });
  if (!failed.ok()) return failed;
  absl::Status status = taken;
  if (status.ok() && scan_->compressed_bytes() == size()) {
    status = scan_->Finish([&](const ScanPoint& point) {
      failed = AddPoint(point);
      return failed;
    });
    if (!failed.ok()) return failed;
  }
  if (!status.ok()) {
    return base::Annotate(status, absl::StrCat(file_.name, ": at byte ",
                                               scan_->compressed_bytes()));
  }
  return scan_->compressed_bytes() == size() ? Finish() : absl::OkStatus();
}

absl::Status DecompressingParser::AddPoint(const ScanPoint& point) {
  AccessPoint added = {.offset = point.offset, .bit = point.bit};
  std::string stored_bytes;
  if (!point.window.empty()) {
    stored_bytes = CompressOrStore(point.window);
    FOREBAY_ASSIGN_OR_RETURN(added.window_offset, writer_->Add(stored_bytes));
    added.window_crc32c = base::Crc32c(point.window);
  } else if (!point.piece.empty()) {
    stored_bytes = CompressOrStore(point.piece);
    auto offset = writer_->AddPiece(stored_bytes);
    if (!offset.ok()) {
      return base::Annotate(
          offset.status(),
          absl::StrCat(file_.name,
                       ": has a long zstd frame, and what that decompresses to "
                       "could not be kept; pzstd makes short ones"));
    }
    added.window_offset = *offset;
    added.window_crc32c = base::Crc32c(point.piece);
  }
  added.window_bytes = static_cast<std::uint32_t>(stored_bytes.size());
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(decompressed_file_.points, 1));
  decompressed_file_.points.push_back(added);
  return absl::OkStatus();
}

absl::Status DecompressingParser::Pass(absl::Span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const auto next = inner_->next_read();
    // The buffered bytes are those from `begin` to passed_.
    const std::uint64_t begin = passed_ - wanted_.size();
    std::uint64_t took = bytes.size();
    // Bytes before the wanted range, or after the last wanted range, are
    // skipped.
    if (!next.has_value()) {
      wanted_.clear();
    } else if (next->offset >= passed_) {
      wanted_.clear();
      took = std::min<std::uint64_t>(took, next->offset - passed_);
    }
    // The wanted range has begun. Buffered bytes before it are dropped, and the
    // buffer is filled up to the range's end.
    if (next.has_value() && next->offset <= passed_) {
      FOREBAY_CHECK(next->offset >= begin &&
                    next->length > passed_ - next->offset);
      wanted_.erase(
          wanted_.begin(),
          wanted_.end() - static_cast<std::ptrdiff_t>(passed_ - next->offset));
      took =
          std::min<std::uint64_t>(bytes.size(), next->length - wanted_.size());
      FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(wanted_, took));
      wanted_.insert(wanted_.end(), bytes.begin(),
                     bytes.begin() + static_cast<std::ptrdiff_t>(took));
    }
    bytes.remove_prefix(took);
    passed_ += took;
    if (next.has_value() && wanted_.size() == next->length)
      FOREBAY_RETURN_IF_ERROR(inner_->Take(wanted_));
  }
  return absl::OkStatus();
}

absl::Status DecompressingParser::Finish() {
  decompressed_file_.size = scan_->decompressed_bytes();
  // Where pieces are kept, reads do not touch the file. So the digest must
  // cover all of the file's bytes to show that the pieces are still right.
  const bool has_pieces = storage::compressed::HasPieces(
      decompressed_file_.compression,
      absl::MakeConstSpan(decompressed_file_.points));
  decompressed_file_.pieces_crc32c =
      has_pieces ? whole_.crc32c() : pieces_.crc32c();
  if (!inner_->next_read().has_value()) return absl::OkStatus();
  FOREBAY_RETURN_IF_ERROR(inner_->EndAt(decompressed_file_.size));
  const std::uint64_t begin = passed_ - wanted_.size();
  while (const auto next = inner_->next_read()) {
    FOREBAY_CHECK(next->offset >= begin && next->offset <= passed_ &&
                  next->length <= passed_ - next->offset);
    FOREBAY_RETURN_IF_ERROR(inner_->Take(absl::MakeConstSpan(wanted_).subspan(
        next->offset - begin, next->length)));
  }
  return absl::OkStatus();
}

std::optional<DecompressedFile> DecompressingParser::TakeDecompressed() {
  if (scan_ == nullptr) return std::nullopt;
  return std::move(decompressed_file_);
}

}  // namespace forebay::dataset::compressed
