#include "server/dataset/records/key_search.h"

#include <cstddef>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/records/compressed_keys.h"
#include "server/dataset/records/shown_key.h"

namespace forebay::dataset::records {
namespace {

// The numbers of records, by key.
using Numbers = std::unordered_map<std::string_view, std::uint64_t>;

constexpr std::uint64_t kNone = UINT64_MAX;
// Bytes of memory that a key in the map takes: its item, the pointer to the
// next item and the hash, the allocator's overhead, and its part of the
// buckets.
constexpr std::uint64_t kBytesOfKey = sizeof(Numbers::value_type) + 40;

// Sets each number in `numbers` to the number of the record with that key.
absl::Status FindAll(const RecordIndex& index, Numbers& numbers) {
  std::uint64_t number = 0;
  for (std::size_t file = 0; file < index.parts().files.size(); ++file) {
    KeyReader reader(index.KeysOf(file));
    for (; reader.Next(); ++number) {
      const auto found = numbers.find(reader.key());
      if (found == numbers.end()) continue;
      if (found->second != kNone) {
        return absl::InvalidArgumentError(
            absl::StrCat("several entries have the key ",
                         ShownKey(found->first), ", which is listed"));
      }
      found->second = number;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::uint64_t>> FindKeys(
    const RecordIndex& index, absl::Span<const std::string_view> keys,
    base::WorkingMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(memory.Grow(keys.size() * kBytesOfKey));
  Numbers numbers(keys.size());
  for (const std::string_view key : keys) numbers.emplace(key, kNone);
  FOREBAY_RETURN_IF_ERROR(FindAll(index, numbers));
  std::vector<std::uint64_t> found;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(found, keys.size()));
  for (const std::string_view key : keys) {
    found.push_back(numbers.find(key)->second);
    if (found.back() != kNone) continue;
    return absl::NotFoundError(
        absl::StrCat("no entry has the key ", ShownKey(key)));
  }
  return found;
}

}  // namespace forebay::dataset::records
