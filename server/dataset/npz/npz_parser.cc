#include "server/dataset/npz/npz_parser.h"

#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/npz/npz_archive.h"

namespace forebay::dataset::npz {

absl::StatusOr<std::unique_ptr<NpzParser>> NpzParser::Create(
    const storage::ListedObject& file, const std::vector<std::string>* names,
    base::WorkingMemory* memory) {
  FOREBAY_ASSIGN_OR_RETURN(
      zip::ZipDirectory directory,
      zip::ZipDirectory::Create(file.name, file.version.size));
  return std::unique_ptr<NpzParser>(
      new NpzParser(file, std::move(directory), names, memory));
}

std::optional<ByteRange> NpzParser::next_read() const {
  const auto wanted = directory_.wanted();
  if (!wanted.has_value()) return std::nullopt;
  return ByteRange{wanted->offset, wanted->length};
}

absl::Status NpzParser::Take(absl::Span<const std::uint8_t> bytes) {
  const auto wanted = directory_.wanted();
  FOREBAY_CHECK(wanted.has_value());
  // The memory of the members is counted before they are parsed.
  const std::uint64_t counted = zip::MemoryOfMembers(bytes.size());
  FOREBAY_RETURN_IF_ERROR(memory_->Grow(counted));
  counted_ += counted;
  FOREBAY_RETURN_IF_ERROR(directory_.Parse(wanted->offset, bytes, &members_));
  if (directory_.wanted().has_value()) return absl::OkStatus();
  FOREBAY_RETURN_IF_ERROR(Finish());
  members_ = {};
  memory_->Shrink(counted_);
  return absl::OkStatus();
}

absl::Status NpzParser::Finish() {
  std::uint64_t decompressed = 0;  // bytes
  for (const std::string& name : names_) {
    const zip::ZipMember* const member = FindArray(members_, name);
    if (member == nullptr)
      return base::Annotate(NoSuchArray(name, members_), file_.name);
    const absl::Status counted = CountDecompressed(*member, &decompressed);
    if (!counted.ok()) return base::Annotate(counted, file_.name);
    // The file has one record, so its shortest and longest values are equal.
    records_.bounds.push_back(
        {.shortest = member->length, .longest = member->length});
  }
  FOREBAY_RETURN_IF_ERROR(memory_->MakeRoom(records_.ends, 1));
  records_.ends.push_back(file_.version.size);
  return absl::OkStatus();
}

}  // namespace forebay::dataset::npz
