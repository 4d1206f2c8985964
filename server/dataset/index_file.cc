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

void SealIndexFile(std::string& bytes) {
  const XXH128_canonical_t checksum = Checksum(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(checksum.digest),
               sizeof(checksum.digest));
}

absl::StatusOr<absl::Span<const std::uint8_t>> UnsealIndexFile(
    absl::Span<const std::uint8_t> bytes) {
  if (bytes.size() < kIndexFileChecksumBytes)
    return DamagedIndexFile("is too short");
  const auto checked = bytes.first(bytes.size() - kIndexFileChecksumBytes);
  const XXH128_canonical_t checksum = Checksum(checked.data(), checked.size());
  if (std::memcmp(checksum.digest, bytes.data() + checked.size(),
                  kIndexFileChecksumBytes) != 0)
    return DamagedIndexFile("does not match its checksum");
  return checked;
}

}  // namespace forebay::dataset
