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

// What the files of all kinds of indexes have in common: arrays of plain items,
// little-endian with nothing in between, and at the end a checksum of all
// before it, XXH3-128 in its canonical form. Thread-safe; never blocks.

namespace forebay::dataset {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::size_t kIndexFileChecksumBytes = 16;

// DATA_LOSS.
absl::Status DamagedIndexFile(std::string_view reason);

// Appends the checksum.
void SealIndexFile(std::string& bytes);

// All but the checksum. DATA_LOSS: it does not match, or there is none.
absl::StatusOr<absl::Span<const std::uint8_t>> UnsealIndexFile(
    absl::Span<const std::uint8_t> bytes);

template <typename Item>
void AppendItems(std::string& bytes, const std::vector<Item>& items) {
  static_assert(std::is_trivially_copyable_v<Item>);
  bytes.append(reinterpret_cast<const char*>(items.data()),
               items.size() * sizeof(Item));
}

// Takes `count` items off the front of `bytes`; false where it has fewer.
template <typename Items>
bool TakeItems(absl::Span<const std::uint8_t>& bytes, std::uint64_t count,
               Items* items) {
  using Item = typename Items::value_type;
  static_assert(std::is_trivially_copyable_v<Item>);
  if (count > bytes.size() / sizeof(Item)) return false;
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
