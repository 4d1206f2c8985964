#include "server/dataset/index_file.h"

#include "absl/strings/str_cat.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset {
namespace {

static_assert(sizeof(XXH128_canonical_t) == kIndexFileChecksumBytes);

XXH128_canonical_t Checksum(const void* data, std::size_t size) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
  return canonical;
}

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
  const XXH128_canonical_t checksum = Checksum(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(checksum.digest),
               sizeof(checksum.digest));
}

absl::Status UnsealIndexFile(const IndexFileType& type,
                             absl::Span<const std::uint8_t>& bytes,
                             absl::Span<std::uint8_t> header) {
  if (bytes.size() < header.size() + kIndexFileChecksumBytes)
    return DamagedIndexFile("is too short");
  if (std::memcmp(bytes.data(), type.magic, sizeof(type.magic)) != 0)
    return DamagedIndexFile("is something else");
  if (std::memcmp(bytes.data(), &type, sizeof(type)) != 0)
    return DamagedIndexFile("is of another version");
  const auto checked = bytes.first(bytes.size() - kIndexFileChecksumBytes);
  const XXH128_canonical_t checksum = Checksum(checked.data(), checked.size());
  if (std::memcmp(checksum.digest, bytes.data() + checked.size(),
                  kIndexFileChecksumBytes) != 0)
    return DamagedIndexFile("does not match its checksum");
  std::memcpy(header.data(), checked.data(), header.size());
  bytes = checked.subspan(header.size());
  return absl::OkStatus();
}

}  // namespace forebay::dataset
