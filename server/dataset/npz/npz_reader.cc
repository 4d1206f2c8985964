#include "server/dataset/npz/npz_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/array/npy_header.h"
#include "server/base/status.h"
#include "server/dataset/npz/npz_archive.h"
#include "server/dataset/range_read.h"
#include "server/dataset/zip/directory_digest.h"
#include "server/dataset/zip/zip_directory.h"

namespace forebay::dataset::npz {
namespace {

// Puts the names of the file and of the member before the error's message.
absl::Status Named(const storage::ListedObject& file,
                   const zip::ZipMember& member, const absl::Status& status) {
  return base::Annotate(status, absl::StrCat(file.name, ": ", member.name));
}

}  // namespace

absl::StatusOr<base::Bytes> NpzReader::Read(const storage::ListedObject& file,
                                            std::uint64_t offset,
                                            std::uint64_t length,
                                            base::WorkingMemory& memory) const {
  return ReadRange({*source_, root_, file, {offset, length}}, &memory, stop_);
}

absl::StatusOr<NpzDirectory> NpzReader::ReadDirectory(
    const storage::ListedObject& file, base::WorkingMemory& memory) const {
  FOREBAY_ASSIGN_OR_RETURN(
      zip::ZipDirectory reader,
      zip::ZipDirectory::Create(file.name, file.version.size));
  NpzDirectory directory;
  while (const auto wanted = reader.wanted()) {
    FOREBAY_RETURN_IF_ERROR(memory.Grow(zip::MemoryOfMembers(wanted->length)));
    FOREBAY_ASSIGN_OR_RETURN(
        const base::Bytes bytes,
        Read(file, wanted->offset, wanted->length, memory));
    FOREBAY_RETURN_IF_ERROR(
        reader.Parse(wanted->offset, bytes.span(), &directory.members));
  }
  zip::DirectoryDigest digest;
  for (const zip::ZipMember& member : directory.members) digest.Add(member);
  directory.digest = digest.Finish(reader.begin());
  return directory;
}

absl::StatusOr<ArrayFile> NpzReader::ReadArray(
    const storage::ListedObject& file, const zip::ZipMember& member,
    base::WorkingMemory& memory) const {
  const std::uint64_t size = file.version.size;
  if (member.header_offset > size || member.compressed > size) {
    return Named(file, member,
                 absl::DataLossError("lies behind the end of the archive"));
  }
  // The length of the local file header's extra field (APPNOTE 4.3.7) is known
  // only after the read. The read is long enough for the longest possible extra
  // field.
  const std::uint64_t length = std::min(
      size - member.header_offset, zip::kHeaderBytes + member.name.size() +
                                       zip::kLongestExtra + member.compressed);
  ArrayFile array;
  FOREBAY_ASSIGN_OR_RETURN(array.read,
                           Read(file, member.header_offset, length, memory));
  const auto range = DataOf(member, array.read.span());
  if (!range.ok()) return Named(file, member, range.status());
  absl::Span<std::uint8_t> room;
  if (member.method == zip::ZipMethod::kDeflated) {
    FOREBAY_RETURN_IF_ERROR(memory.Grow(member.length));
    array.decompressed = std::make_unique<std::uint8_t[]>(member.length);
    room = {array.decompressed.get(), member.length};
  }
  const auto bytes = Decompress(
      member, array.read.span().subspan(range->offset, range->length), room);
  if (!bytes.ok()) return Named(file, member, bytes.status());
  array.bytes = *bytes;
  array.offset = member.header_offset + range->offset;
  if (!room.empty()) {
    // The compressed bytes are freed as soon as they are decompressed.
    array.read = {};
    memory.Shrink(storage::HeldBytes(length));
  }
  return array;
}

absl::StatusOr<ArrayFile> NpzReader::ReadStart(
    const storage::ListedObject& file, const zip::ZipMember& member,
    base::WorkingMemory& memory) const {
  const std::uint64_t size = file.version.size;
  const absl::Status behind =
      absl::DataLossError("lies behind the end of the archive");
  if (member.header_offset > size) return Named(file, member, behind);
  const std::uint64_t length =
      std::min(size - member.header_offset,
               zip::kHeaderBytes + member.name.size() + zip::kLongestExtra +
                   array::kLongestNpyHeader);
  ArrayFile array_start;
  FOREBAY_ASSIGN_OR_RETURN(array_start.read,
                           Read(file, member.header_offset, length, memory));
  const auto offset = zip::DataOffset(member.name, array_start.read.span());
  if (!offset.ok()) return Named(file, member, offset.status());
  if (*offset > length || member.length > size - member.header_offset - *offset)
    return Named(file, member, behind);
  array_start.bytes = array_start.read.span().subspan(*offset, member.length);
  array_start.offset = member.header_offset + *offset;
  return array_start;
}

}  // namespace forebay::dataset::npz
