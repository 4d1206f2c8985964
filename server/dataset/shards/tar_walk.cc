#include "server/dataset/shards/tar_walk.h"

#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/shards/gzip_member.h"
#include "server/dataset/shards/pax_records.h"

// A walk is a state machine whose position, at_, is the offset of a header. It
// wants one of three ranges. The first is the header's block. The second is the
// data of an extended header (open_), which describes the next member. The
// third is the last bytes of the gzip-compressed file just passed (gzipped_).
// The data of files is skipped by arithmetic: the next header lies behind the
// data, padded to whole blocks.
//
// An archive ends with a block of zeros, or behind its last member. A truncated
// archive is an error, since it would silently lack samples. For the same
// reason, an extended header must be followed by the member that it describes.

namespace forebay::dataset::shards {
namespace {

// The longest name or extended header, in bytes. Programs write far shorter
// ones. Its data is read in one piece.
constexpr std::uint64_t kLargestAttributes = std::uint64_t{1} << 20;  // bytes

// Returns the name of the compression with whose magic number `block` begins.
// Returns "" if there is no such compression.
std::string_view CompressionOf(absl::Span<const std::uint8_t> block) {
  const std::string_view begin(reinterpret_cast<const char*>(block.data()),
                               block.size());
  if (begin.starts_with("\x1f\x8b")) return "gzip";
  if (begin.starts_with("BZh")) return "bzip2";
  if (begin.starts_with(std::string_view("\xfd\x37zXZ\0", 6))) return "xz";
  if (begin.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  return {};
}

}  // namespace

absl::StatusOr<TarWalk> TarWalk::Create(std::string object, std::uint64_t size,
                                        bool reads_gzip_ends) {
  if (size < kTarBlock) {
    return absl::DataLossError(absl::StrCat(
        object, ": is not a tar archive: it has only ", size, " bytes"));
  }
  return TarWalk(std::move(object), size, reads_gzip_ends);
}

std::optional<ByteRange> TarWalk::wanted() const {
  if (gzipped_.has_value()) {
    return ByteRange{gzipped_->offset + gzipped_->length - kGzipEndBytes,
                     kGzipEndBytes};
  }
  if (over_) return std::nullopt;
  if (open_.has_value()) return ByteRange{at_ + kTarBlock, open_->data_bytes};
  return ByteRange{at_, kTarBlock};
}

absl::Status TarWalk::Parse(std::uint64_t offset,
                            absl::Span<const std::uint8_t> bytes,
                            std::vector<TarMember>* files) {
  while (const std::optional<ByteRange> next = wanted()) {
    if (next->offset < offset || next->offset - offset > bytes.size() ||
        next->length > bytes.size() - (next->offset - offset)) {
      break;
    }
    const auto piece = bytes.subspan(next->offset - offset, next->length);
    absl::Status status;
    if (gzipped_.has_value()) {
      gzipped_->decompressed = DecompressedBytes(piece, gzipped_->length);
      files->push_back(*std::exchange(gzipped_, std::nullopt));
    } else if (open_.has_value()) {
      status = ParseAttributes(open_->kind, piece);
      if (status.ok()) status = Skip(piece.size());
    } else {
      status = ParseHeader(piece, files);
    }
    if (!status.ok()) {
      over_ = true;
      gzipped_.reset();
      return Annotated(status);
    }
  }
  return absl::OkStatus();
}

absl::Status TarWalk::EndAt(std::uint64_t size) {
  size_ = size;
  if (over_) return absl::OkStatus();
  over_ = true;
  if (size < kTarBlock) {
    return absl::DataLossError(absl::StrCat(
        object_, ": is not a tar archive: it has only ", size, " bytes"));
  }
  absl::Status status;
  if (at_ > size) {
    status = absl::DataLossError(absl::StrCat(
        "the archive is truncated in a member's data: it ends at byte ", size));
  } else if (at_ < size) {
    status = absl::DataLossError(
        open_.has_value() ? "the archive is truncated in a header"
                          : "the archive is truncated in the next header");
  } else if (overrides_.any) {
    status = absl::DataLossError("the member that attributes speak of lacks");
  }
  // Without an error, gzipped_ stays: the end of the last file may still be
  // wanted.
  if (!status.ok()) gzipped_.reset();
  return Annotated(status);
}

absl::Status TarWalk::ParseHeader(absl::Span<const std::uint8_t> block,
                                  std::vector<TarMember>* files) {
  auto header = ParseTarHeader(block);
  if (!header.ok()) {
    const std::string_view compression = CompressionOf(block);
    if (at_ > 0 || compression.empty()) return header.status();
    return absl::UnimplementedError(
        absl::StrCat("the archive is compressed (", std::string(compression),
                     "), so that its files cannot be read singly"));
  }
  if (!header->has_value()) {
    if (overrides_.any) {
      return absl::DataLossError("the member that attributes speak of lacks");
    }
    over_ = true;
    return absl::OkStatus();
  }
  switch ((*header)->kind) {
    case TarKind::kLongName:
    case TarKind::kAttributes:
    case TarKind::kGlobalAttributes:
      if ((*header)->data_bytes > kLargestAttributes) {
        return absl::DataLossError(absl::StrCat(
            "a member has ", (*header)->data_bytes, " bytes of attributes"));
      }
      if ((*header)->data_bytes > size_ - at_ - kTarBlock) {
        return absl::DataLossError("the archive is truncated in a header");
      }
      open_ = *std::move(*header);
      return absl::OkStatus();
    case TarKind::kLongLink:
      return Skip((*header)->data_bytes);
    default:
      return AddMember(*std::move(*header), files);
  }
}

absl::Status TarWalk::AddMember(TarHeader header,
                                std::vector<TarMember>* files) {
  const Overrides overrides = std::exchange(overrides_, {});
  if (overrides.name.has_value()) header.name = *overrides.name;
  if (overrides.size.has_value() && header.has_data) {
    header.data_bytes = *overrides.size;
  }
  if (header.kind == TarKind::kSparseFile ||
      (overrides.sparse && header.kind == TarKind::kFile)) {
    return absl::UnimplementedError(absl::StrCat(
        "the file ", header.name, " is sparse, which is not supported"));
  }
  const std::uint64_t data = at_ + kTarBlock;
  if (header.data_bytes > size_ - data) {
    return absl::DataLossError(absl::StrCat(
        "the archive is truncated: ", header.name, " has ", header.data_bytes,
        " bytes, of which ", size_ - data, " are there"));
  }
  FOREBAY_RETURN_IF_ERROR(Skip(header.data_bytes));
  if (header.kind == TarKind::kLink) {
    files->push_back({.name = std::move(header.name), .is_link = true});
  } else if (header.kind == TarKind::kFile) {
    TarMember file = {std::move(header.name), data, header.data_bytes};
    if (reads_gzip_ends_ && absl::EndsWithIgnoreCase(file.name, ".gz") &&
        file.length >= kGzipEndBytes)
      gzipped_ = std::move(file);
    else
      files->push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::Status TarWalk::ParseAttributes(TarKind kind,
                                      absl::Span<const std::uint8_t> data) {
  if (kind == TarKind::kLongName) {
    const std::string_view text(reinterpret_cast<const char*>(data.data()),
                                data.size());
    overrides_.any = true;
    if (!overrides_.name.has_value()) {
      overrides_.name = std::string(text.substr(0, text.find('\0')));
    }
    return absl::OkStatus();
  }
  FOREBAY_ASSIGN_OR_RETURN(PaxRecords records, ParsePaxRecords(data));
  if (kind == TarKind::kGlobalAttributes) {
    if (records.path.has_value() || records.size.has_value() ||
        records.sparse) {
      return absl::UnimplementedError(
          "attributes rename or resize all files, which is not supported");
    }
    return absl::OkStatus();
  }
  overrides_.any = true;
  overrides_.sparse |= records.sparse;
  if (!overrides_.name.has_value()) {
    overrides_.name = std::move(records.path);
  }
  if (!overrides_.size.has_value()) overrides_.size = records.size;
  return absl::OkStatus();
}

// The next header lies behind the data and its padding.
absl::Status TarWalk::Skip(std::uint64_t data_bytes) {
  open_.reset();
  const std::uint64_t data = at_ + kTarBlock;
  const std::uint64_t room = size_ - data;
  const std::uint64_t padding =
      (kTarBlock - data_bytes % kTarBlock) % kTarBlock;
  if (data_bytes > room || padding > room - data_bytes) {
    return absl::DataLossError("the archive is truncated in a member's data");
  }
  const std::uint64_t rest = room - data_bytes - padding;
  // An archive without a block of zeros ends behind its last member: some
  // writers leave that block out.
  if (rest > 0 && rest < kTarBlock) {
    return absl::DataLossError("the archive is truncated in the next header");
  }
  if (rest == 0 && overrides_.any) {
    return absl::DataLossError("the member that attributes speak of lacks");
  }
  at_ = data + data_bytes + padding;
  over_ = rest == 0;
  return absl::OkStatus();
}

absl::Status TarWalk::Annotated(const absl::Status& status) const {
  return base::Annotate(status, absl::StrCat(object_, ": at byte ", at_));
}

}  // namespace forebay::dataset::shards
