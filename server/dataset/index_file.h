#ifndef FOREBAY_SERVER_DATASET_INDEX_FILE_H_
#define FOREBAY_SERVER_DATASET_INDEX_FILE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/huge_pages.h"

// The common parts of all index files: a header, arrays of plain items
// and a checksum of all before it, XXH3-128 in its canonical form. Everything
// is little-endian, with nothing in between. Thread-safe; never blocks.
//
// The checksum finds accidents. A user who can write the file can write any
// index, but not one that makes a reader go out of bounds.

namespace forebay::dataset {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::size_t kIndexFileChecksumBytes = 16;

// The start of each header.
struct IndexFileType {
  char magic[8];
  std::uint32_t version;
  std::uint32_t dataset_format;  // 0 where all files are of one
};
static_assert(sizeof(IndexFileType) == 16);

// DATA_LOSS: the file is damaged, or a part of the index in it.
absl::Status DamagedIndexFile(std::string_view reason);
absl::Status DamagedIndex(std::string_view what, std::uint64_t number);

// Appends the checksum.
void SealIndexFile(std::string& bytes);

// Takes the header, of `header.size()` bytes, and the checksum off `bytes`.
// DATA_LOSS: the file is too short or of another type, or the checksum does not
// match.
absl::Status UnsealIndexFile(const IndexFileType& type,
                             absl::Span<const std::uint8_t>& bytes,
                             absl::Span<std::uint8_t> header);

// As above; the Header begins with an IndexFileType.
template <typename Header>
absl::StatusOr<Header> TakeIndexFileHeader(
    const IndexFileType& type, absl::Span<const std::uint8_t>& bytes) {
  static_assert(std::is_trivially_copyable_v<Header>);
  Header header;
  const absl::Status unsealed = UnsealIndexFile(
      type, bytes, {reinterpret_cast<std::uint8_t*>(&header), sizeof(header)});
  if (!unsealed.ok()) return unsealed;
  return header;
}

template <typename Item>
void AppendItems(std::string& bytes, const std::vector<Item>& items) {
  static_assert(std::is_trivially_copyable_v<Item>);
  bytes.append(reinterpret_cast<const char*>(items.data()),
               items.size() * sizeof(Item));
}

// Takes `count` items off the front of `bytes`. Returns false if it has fewer.
template <typename Items>
bool TakeItems(absl::Span<const std::uint8_t>& bytes, std::uint64_t count,
               Items* items) {
  using Item = typename Items::value_type;
  static_assert(std::is_trivially_copyable_v<Item>);
  if (count > bytes.size() / sizeof(Item)) return false;
  items->reserve(count);
  base::PreferHugePages(items->data(), count * sizeof(Item));
  items->resize(count);
  if (count > 0) {
    std::memcpy(static_cast<void*>(items->data()), bytes.data(),
                count * sizeof(Item));
  }
  bytes.remove_prefix(count * sizeof(Item));
  return true;
}

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_FILE_H_
