#include "server/dataset/index_file.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset {
namespace {

static_assert(sizeof(Version) == kIndexFileChecksumBytes);

// The largest index file, in bytes. An index of some 300 million samples has
// this size.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 34;  // bytes

}  // namespace

absl::Status DamagedIndexFile(std::string_view reason) {
  return absl::DataLossError(absl::StrCat(
      "the index file ", absl::string_view(reason.data(), reason.size())));
}

absl::Status DamagedIndex(std::string_view what, std::uint64_t number) {
  return absl::DataLossError(
      absl::StrCat("index: ", absl::string_view(what.data(), what.size()), " ",
                   number, " is out of range"));
}

void SealIndexFile(std::string& bytes) {
  const Version checksum =
      VersionDigest().AddItems(bytes.data(), bytes.size()).Get();
  bytes.append(reinterpret_cast<const char*>(checksum.data()), checksum.size());
}

absl::StatusOr<IndexFileReader> IndexFileReader::Open(const std::string& path) {
  FOREBAY_ASSIGN_OR_RETURN(OwnFile file, OpenOwnFile(path));
  if (file.size > kLargestFile) {
    return absl::DataLossError(
        absl::StrCat(path, ": is larger than ", kLargestFile, " bytes"));
  }
  return IndexFileReader(std::move(file), nullptr);
}

absl::Status IndexFileReader::TakeTyped(const IndexFileType& type,
                                        absl::Span<std::uint8_t> header) {
  if (header.size() > left_) return DamagedIndexFile("is too short");
  FOREBAY_RETURN_IF_ERROR(Take(header));
  if (std::memcmp(header.data(), type.magic, sizeof(type.magic)) != 0)
    return DamagedIndexFile("is something else");
  if (std::memcmp(header.data(), &type, sizeof(type)) != 0)
    return DamagedIndexFile("is of another version");
  return absl::OkStatus();
}

absl::Status IndexFileReader::Take(absl::Span<std::uint8_t> bytes) {
  FOREBAY_RETURN_IF_ERROR(Read(bytes));
  left_ -= bytes.size();
  digest_.AddItems(bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status IndexFileReader::Read(absl::Span<std::uint8_t> bytes) {
  if (bytes_ == nullptr) {
    FOREBAY_RETURN_IF_ERROR(ReadAt(file_, read_, bytes));
  } else if (!bytes.empty()) {
    std::memcpy(bytes.data(), bytes_ + read_, bytes.size());
  }
  read_ += bytes.size();
  return absl::OkStatus();
}

absl::Status IndexFileReader::Finish() {
  if (left_ > 0)
    return DamagedIndexFile("has counts that do not match its length");
  if (file_.size - read_ != kIndexFileChecksumBytes)
    return DamagedIndexFile("is too short");
  Version checksum;
  FOREBAY_RETURN_IF_ERROR(Read(absl::MakeSpan(checksum)));
  if (checksum != digest_.Get())
    return DamagedIndexFile("does not match its checksum");
  return absl::OkStatus();
}

}  // namespace forebay::dataset
