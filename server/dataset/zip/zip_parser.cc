#include "server/dataset/zip/zip_parser.h"

#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::dataset::zip {

absl::StatusOr<std::unique_ptr<ZipParser>> ZipParser::Create(
    const storage::ListedObject& archive, Keep keep,
    base::WorkingMemory* memory) {
  FOREBAY_ASSIGN_OR_RETURN(
      ZipDirectory directory,
      ZipDirectory::Create(archive.name, archive.version.size));
  return std::unique_ptr<ZipParser>(
      new ZipParser(std::move(directory), keep, memory));
}

std::optional<ByteRange> ZipParser::next_read() const {
  const auto wanted = directory_.wanted();
  if (!wanted.has_value()) return std::nullopt;
  return ByteRange{wanted->offset, wanted->length};
}

absl::Status ZipParser::Take(absl::Span<const std::uint8_t> bytes) {
  const auto wanted = directory_.wanted();
  FOREBAY_CHECK(wanted.has_value());
  // The parsed members are temporary, so they are counted only while they
  // exist.
  const std::uint64_t counted = MemoryOfMembers(bytes.size());
  FOREBAY_RETURN_IF_ERROR(memory_->Grow(counted));
  {
    std::vector<ZipMember> members;
    FOREBAY_RETURN_IF_ERROR(directory_.Parse(wanted->offset, bytes, &members));
    for (const ZipMember& member : members)
      FOREBAY_RETURN_IF_ERROR(Add(member));
  }
  memory_->Shrink(counted);
  return absl::OkStatus();
}

absl::Status ZipParser::Add(const ZipMember& member) {
  digest_.Add(member);
  if (keep_ == Keep::kDigest) return absl::OkStatus();
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(contents_.files, 1));
  FOREBAY_RETURN_IF_ERROR(
      memory_->MakeRoom(contents_.names, member.name.size()));
  contents_.files.push_back(
      {.name_offset = contents_.names.size(),
       .header_offset = member.header_offset,
       .compressed = member.compressed,
       .length = member.length,
       .crc32 = member.crc32,
       .name_length = static_cast<std::uint16_t>(member.name.size()),
       .method = member.method});
  contents_.names += member.name;
  return absl::OkStatus();
}

ArchiveContents ZipParser::TakeContents() {
  contents_.end = directory_.begin();
  contents_.digest = digest_.Finish(contents_.end);
  return std::move(contents_);
}

}  // namespace forebay::dataset::zip
