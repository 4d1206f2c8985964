#include "server/dataset/zip/zip_directory.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/shown_name.h"

// The end of an archive is read first, in at most two reads. The first read is
// short: nearly all archives have no comment, so their end records (eocd.h) lie
// in the last few bytes. In a small archive, the first read often has the whole
// directory, too.
//
// The directory ends where the end records begin, so the directory's length
// tells its real offset. The archive states the offsets of the directory and of
// members as the writer counted them. If bytes were put before the archive
// later, such as a self-extractor's program, all real offsets are larger by the
// same number. A member is therefore found by the difference between its stated
// offset and the directory's stated offset.

namespace forebay::dataset::zip {
namespace {

// The lengths of the two reads of the archive's end. The longer read covers an
// EOCD with the longest comment, and its locator.
constexpr std::uint64_t kShortTail = 4096;  // bytes
constexpr std::uint64_t kLongTail =
    kEocdBytes + kLongestComment + kEocd64LocatorBytes;
// The directory is parsed in pieces of 1 MiB, each longer than an entry can be.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;  // bytes
static_assert(kPiece >= kLongestEntry);

// The bytes of an entry besides its name, extra fields and comment.
constexpr std::uint64_t kShortestEntry = 46;

// Version 6.3 of the format, as "version needed to extract" states it (APPNOTE
// 4.4.3).
constexpr std::uint8_t kLatestVersion = 63;

// Returns the name of a compression method that is not supported (APPNOTE
// 4.4.5).
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

// Returns the path that an entry names. APPNOTE 4.4.17.1 demands slashes. But
// if a name from MS-DOS has no slash, its backslashes are taken for slashes, as
// Info-ZIP's unzip does.
std::string PathOf(const DirectoryEntry& entry) {
  std::string path(entry.name);
  if (entry.host == kDosHost && path.find('/') == path.npos)
    std::replace(path.begin(), path.end(), '\\', '/');
  return path;
}

// Returns `status` with the file's name put before its message.
absl::Status Named(std::string_view name, const absl::Status& status) {
  return {status.code(),
          absl::StrCat("the file ", ShownName(name), " ", status.message())};
}

// Returns the compression method of a file, or the reason why the file cannot
// be read.
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

// Checks that the lengths which the entry states are possible.
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
  if (size < kEocdBytes) {
    return absl::DataLossError(absl::StrCat(
        object, ": is not a zip archive: it has only ", size, " bytes"));
  }
  return ZipDirectory(std::move(object), size);
}

std::optional<ZipDirectory::Range> ZipDirectory::wanted() const {
  switch (part_) {
    case Part::kTail:
      return Range{at_, size_ - at_};
    case Part::kEocd64:
      return Range{at_, kEocd64Bytes};
    case Part::kEntries:
      return Range{at_, std::min(kPiece, directory_end_ - at_)};
    case Part::kNone:
      break;
  }
  return std::nullopt;
}

absl::Status ZipDirectory::Parse(std::uint64_t offset,
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
      status = ParseTail(piece);
    } else if (part_ == Part::kEocd64) {
      status = ParseEocd64Record(piece);
    } else {
      status = ParseEntries(piece, members);
    }
    if (!status.ok()) {
      part_ = Part::kNone;
      return base::Annotate(status, absl::StrCat(object_, ": at byte ", at_));
    }
  }
  return absl::OkStatus();
}

absl::Status ZipDirectory::ParseTail(absl::Span<const std::uint8_t> tail) {
  const std::optional<EocdPlace> found = FindEocd(tail);
  // The longer read is needed in three cases: the short read has no EOCD, it
  // has bytes behind the comment (perhaps of a longer comment), or it lacks the
  // locator.
  const std::uint64_t longest = std::min(size_, kLongTail);
  if (tail.size() < longest && (!found.has_value() || found->behind > 0 ||
                                found->offset < kEocd64LocatorBytes)) {
    at_ = size_ - longest;
    return absl::OkStatus();
  }
  if (!found.has_value()) {
    return absl::DataLossError(
        "there is no end record: this is not a zip archive, or a truncated "
        "one");
  }
  behind_ = found->behind;
  at_ += found->offset;
  if (found->offset >= kEocd64LocatorBytes) {
    FOREBAY_ASSIGN_OR_RETURN(
        const auto end64,
        ParseEocd64Locator(tail.subspan(found->offset - kEocd64LocatorBytes,
                                        kEocd64LocatorBytes)));
    if (end64.has_value())
      return ParseLocator(*end64, at_ - kEocd64LocatorBytes);
  }
  FOREBAY_ASSIGN_OR_RETURN(const Eocd end,
                           ParseEocd(tail.subspan(found->offset, kEocdBytes)));
  return Begin(end, at_);
}

// All known writers put an EOCD64 of kEocd64Bytes right before its locator. A
// longer EOCD64 begins where the locator says.
absl::Status ZipDirectory::ParseLocator(std::uint64_t eocd64_offset,
                                        std::uint64_t locator) {
  if (locator < kEocd64Bytes || eocd64_offset > locator - kEocd64Bytes) {
    return absl::DataLossError(
        "the zip64 locator says that its record lies behind it");
  }
  said_end64_ = eocd64_offset;
  locator_ = locator;
  at_ = locator - kEocd64Bytes;
  part_ = Part::kEocd64;
  return absl::OkStatus();
}

absl::Status ZipDirectory::ParseEocd64Record(
    absl::Span<const std::uint8_t> record) {
  FOREBAY_ASSIGN_OR_RETURN(const auto end, ParseEocd64(record, locator_ - at_));
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

absl::Status ZipDirectory::Begin(const Eocd& end, std::uint64_t directory_end) {
  if (end.directory_bytes > directory_end) {
    return absl::DataLossError(absl::StrCat(
        "the directory cannot have ", end.directory_bytes,
        " bytes, as the end record says: ", directory_end, " lie before it"));
  }
  end_ = end;
  directory_begin_ = directory_end - end.directory_bytes;
  directory_end_ = directory_end;
  // If bytes follow the EOCD, the archive may be truncated, and the EOCD may
  // belong to another archive that is stored within this one. The offsets then
  // do not match, since bytes precede the other archive.
  if (behind_ > 0 && end.directory_offset != directory_begin_) {
    return absl::DataLossError(
        absl::StrCat(behind_, " bytes follow the end record"));
  }
  at_ = directory_begin_;
  part_ = Part::kEntries;
  return end.directory_bytes == 0 ? Finish() : absl::OkStatus();
}

absl::Status ZipDirectory::ParseEntries(absl::Span<const std::uint8_t> bytes,
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
  // A folder's data is never read, so its method does not matter.
  if (!member.name.ends_with('/')) {
    FOREBAY_ASSIGN_OR_RETURN(member.method, MethodOf(entry));
    FOREBAY_RETURN_IF_ERROR(CheckLength(entry, member.method));
  }
  // The distance from the member's header to the directory is the same in
  // stated offsets as in real ones.
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
  // Members that overlap are refused: a small archive could otherwise state
  // many copies of one large file (a "zip bomb").
  if (header + entry.compressed > directory_begin_ - member_bytes_) {
    return absl::DataLossError("lies over others: they have no room for it");
  }
  member_bytes_ += header + entry.compressed;
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

// The capacity of the members' vector may be twice its size, and the vector is
// copied when it grows.
std::uint64_t MemoryOfMembers(std::uint64_t bytes) {
  return bytes / kShortestEntry * (3 * sizeof(ZipMember) + base::HeapBytes(0)) +
         bytes;
}

}  // namespace forebay::dataset::zip
