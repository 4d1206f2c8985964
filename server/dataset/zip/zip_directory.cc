#include "server/dataset/zip/zip_directory.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/shown_name.h"

// The end of an archive is read first, and twice if need be: nearly all have no
// comment, and then the end record, with its locator and the larger one, if
// there are any, lies in the last few bytes. So does the whole directory of an
// archive of few files.
//
// The directory ends where the end records begin, so its length says where it
// begins. Where the end record says that it begins is by the writer's count,
// and so are the offsets of members. A member lies as far before the directory
// as these two say, whatever was put before the archive since.

namespace forebay::dataset::zip {
namespace {

constexpr std::uint64_t kShortTail = 4096;  // bytes
constexpr std::uint64_t kLongTail = kEndBytes + kLongestComment + kLocatorBytes;
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;  // bytes
static_assert(kPiece >= kLongestEntry);

// No entry of a directory has fewer bytes, besides its name.
constexpr std::uint64_t kShortestEntry = 46;

constexpr std::uint8_t kLatestVersion = 63;

// Returns the name of a method that is neither of ours.
std::string NameOf(std::uint16_t method) {
  switch (method) {
    case 1:
      return "shrink";
    case 6:
      return "implode";
    case 9:
      return "deflate64";
    case 12:
      return "bzip2";
    case 14:
      return "lzma";
    case 93:
      return "zstd";
    case 95:
      return "xz";
    case 98:
      return "ppmd";
    default:
      return absl::StrCat("method ", method);
  }
}

// Returns the path that an entry names. A name of MS-DOS without a slash has
// backslashes between its parts, as Info-ZIP's unzip reads such names.
std::string PathOf(const DirectoryEntry& entry) {
  std::string path(entry.name);
  if (entry.host == kDosHost && path.find('/') == path.npos)
    std::replace(path.begin(), path.end(), '\\', '/');
  return path;
}

// Returns an error of a file, whose message goes on behind its name.
absl::Status Named(std::string_view name, const absl::Status& status) {
  return {status.code(),
          absl::StrCat("the file ", ShownName(name), " ", status.message())};
}

// Returns the method of a file that can be read, or why it cannot be.
absl::StatusOr<ZipMethod> MethodOf(const DirectoryEntry& entry) {
  if ((entry.flags & (kEncrypted | kStronglyEncrypted | kMaskedHeader)) != 0) {
    return absl::UnimplementedError("is encrypted, which is not supported");
  }
  if ((entry.flags & kPatch) != 0) {
    return absl::UnimplementedError("is a patch of another file");
  }
  if (entry.disk != 0) {
    return absl::UnimplementedError("lies in another file of a split archive");
  }
  if (entry.version > kLatestVersion) {
    return absl::UnimplementedError(
        absl::StrCat("is of the zip format's version ", entry.version / 10, ".",
                     entry.version % 10));
  }
  if (entry.method != 0 && entry.method != 8) {
    return absl::UnimplementedError(absl::StrCat(
        "is compressed by ", NameOf(entry.method), ", which is not supported"));
  }
  return entry.method == 0 ? ZipMethod::kStored : ZipMethod::kDeflated;
}

absl::Status CheckLength(const DirectoryEntry& entry, ZipMethod method) {
  if (CanHave(entry.length, entry.compressed, method)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("cannot have ", entry.length,
                                          " bytes, as it takes ",
                                          entry.compressed, " in the archive"));
}

}  // namespace

ZipDirectory::ZipDirectory(std::string object, std::uint64_t size)
    : object_(std::move(object)),
      size_(size),
      at_(size - std::min(size, kShortTail)) {}

absl::StatusOr<ZipDirectory> ZipDirectory::Create(std::string object,
                                                  std::uint64_t size) {
  if (size < kEndBytes) {
    return absl::DataLossError(absl::StrCat(
        object, ": is no zip archive: it has only ", size, " bytes"));
  }
  return ZipDirectory(std::move(object), size);
}

std::optional<ZipDirectory::Range> ZipDirectory::wanted() const {
  switch (part_) {
    case Part::kTail:
      return Range{at_, size_ - at_};
    case Part::kEnd64:
      return Range{at_, kEnd64Bytes};
    case Part::kEntries:
      return Range{at_, std::min(kPiece, directory_end_ - at_)};
    case Part::kNone:
      break;
  }
  return std::nullopt;
}

absl::Status ZipDirectory::See(std::uint64_t offset,
                               absl::Span<const std::uint8_t> bytes,
                               std::vector<ZipMember>* members) {
  while (const std::optional<Range> next = wanted()) {
    if (next->offset < offset || next->offset - offset > bytes.size() ||
        next->length > bytes.size() - (next->offset - offset)) {
      break;
    }
    const auto piece = bytes.subspan(next->offset - offset, next->length);
    absl::Status status;
    if (part_ == Part::kTail) {
      status = SeeTail(piece);
    } else if (part_ == Part::kEnd64) {
      status = SeeEnd64(piece);
    } else {
      status = SeeEntries(piece, members);
    }
    if (!status.ok()) {
      part_ = Part::kNone;
      return base::Annotate(status, absl::StrCat(object_, ": at byte ", at_));
    }
  }
  return absl::OkStatus();
}

absl::Status ZipDirectory::SeeTail(absl::Span<const std::uint8_t> tail) {
  const std::optional<FoundEnd> found = FindEnd(tail);
  const std::uint64_t longest = std::min(size_, kLongTail);
  if (tail.size() < longest && (!found.has_value() || found->behind > 0 ||
                                found->offset < kLocatorBytes)) {
    at_ = size_ - longest;
    return absl::OkStatus();
  }
  if (!found.has_value()) {
    return absl::DataLossError(
        "there is no end record: this is no zip archive, or a truncated one");
  }
  behind_ = found->behind;
  at_ += found->offset;
  if (found->offset >= kLocatorBytes) {
    FOREBAY_ASSIGN_OR_RETURN(
        const auto end64, ParseLocator(tail.subspan(
                              found->offset - kLocatorBytes, kLocatorBytes)));
    if (end64.has_value()) return SeeLocator(*end64, at_ - kLocatorBytes);
  }
  FOREBAY_ASSIGN_OR_RETURN(const ZipEnd end,
                           ParseEnd(tail.subspan(found->offset, kEndBytes)));
  return Begin(end, at_);
}

// The larger record lies right before its locator, as all known writers have
// it. If it does not, it is where the locator says, and longer.
absl::Status ZipDirectory::SeeLocator(std::uint64_t end64_offset,
                                      std::uint64_t locator) {
  if (locator < kEnd64Bytes || end64_offset > locator - kEnd64Bytes) {
    return absl::DataLossError(
        "the zip64 locator says that its record lies behind it");
  }
  said_end64_ = end64_offset;
  locator_ = locator;
  at_ = locator - kEnd64Bytes;
  part_ = Part::kEnd64;
  return absl::OkStatus();
}

absl::Status ZipDirectory::SeeEnd64(absl::Span<const std::uint8_t> record) {
  FOREBAY_ASSIGN_OR_RETURN(const auto end, ParseEnd64(record, locator_ - at_));
  if (!end.has_value() && said_end64_ < at_) {
    at_ = said_end64_;
    return absl::OkStatus();
  }
  if (!end.has_value()) {
    return absl::DataLossError("there is no zip64 end record");
  }
  if (end->directory_offset > said_end64_ ||
      end->directory_bytes != said_end64_ - end->directory_offset) {
    return absl::DataLossError(
        "the zip64 end record does not follow the directory that it speaks of");
  }
  return Begin(*end, at_);
}

absl::Status ZipDirectory::Begin(const ZipEnd& end,
                                 std::uint64_t directory_end) {
  if (end.directory_bytes > directory_end) {
    return absl::DataLossError(absl::StrCat(
        "the directory cannot have ", end.directory_bytes,
        " bytes, as the end record says: ", directory_end, " lie before it"));
  }
  end_ = end;
  directory_begin_ = directory_end - end.directory_bytes;
  directory_end_ = directory_end;
  // An archive that was truncated may end so, if another one lies within it.
  // Then there is something before that one.
  if (behind_ > 0 && end.directory_offset != directory_begin_) {
    return absl::DataLossError(
        absl::StrCat(behind_, " bytes follow the end record"));
  }
  at_ = directory_begin_;
  part_ = Part::kEntries;
  return end.directory_bytes == 0 ? Finish() : absl::OkStatus();
}

absl::Status ZipDirectory::SeeEntries(absl::Span<const std::uint8_t> bytes,
                                      std::vector<ZipMember>* members) {
  while (!bytes.empty()) {
    FOREBAY_ASSIGN_OR_RETURN(const auto entry, ParseDirectoryEntry(bytes));
    if (!entry.has_value()) {
      if (bytes.size() < directory_end_ - at_) return absl::OkStatus();
      return absl::DataLossError("the directory ends within an entry");
    }
    auto member = MemberOf(*entry);
    if (!member.ok()) return Named(entry->name, member.status());
    if (!member->name.ends_with('/')) members->push_back(*std::move(member));
    ++entries_;
    at_ += entry->bytes;
    bytes.remove_prefix(entry->bytes);
  }
  return at_ == directory_end_ ? Finish() : absl::OkStatus();
}

absl::StatusOr<ZipMember> ZipDirectory::MemberOf(const DirectoryEntry& entry) {
  if (entry.name.find('\0') != entry.name.npos) {
    return absl::DataLossError("has a NUL in its name");
  }
  ZipMember member = {.name = PathOf(entry),
                      .compressed = entry.compressed,
                      .length = entry.length,
                      .crc32 = entry.crc32};
  // A directory has no data that anybody reads.
  if (!member.name.ends_with('/')) {
    FOREBAY_ASSIGN_OR_RETURN(member.method, MethodOf(entry));
    FOREBAY_RETURN_IF_ERROR(CheckLength(entry, member.method));
  }
  const std::uint64_t before_directory =
      end_.directory_offset - entry.header_offset;
  const std::uint64_t header = kHeaderBytes + entry.name.size();
  if (entry.header_offset > end_.directory_offset ||
      before_directory > directory_begin_ || header > before_directory ||
      entry.compressed > before_directory - header) {
    return absl::DataLossError(
        absl::StrCat("does not lie before the directory, as it begins at byte ",
                     entry.header_offset, " and takes ", entry.compressed));
  }
  member.header_offset = directory_begin_ - before_directory;
  if (header + entry.compressed > directory_begin_ - taken_) {
    return absl::DataLossError("lies over others: they have no room for it");
  }
  taken_ += header + entry.compressed;
  return member;
}

absl::Status ZipDirectory::Finish() {
  part_ = Part::kNone;
  const std::uint64_t counted =
      end_.short_count ? entries_ & UINT16_MAX : entries_;
  if (counted == end_.members) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the directory has ", entries_,
                                          " members, but the end record says ",
                                          end_.members));
}

// Their vector may be twice as long, and is copied as it grows.
std::uint64_t MemoryOfMembers(std::uint64_t bytes) {
  return bytes / kShortestEntry * (3 * sizeof(ZipMember) + base::HeapBytes(0)) +
         bytes;
}

}  // namespace forebay::dataset::zip
