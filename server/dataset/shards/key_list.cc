#include "server/dataset/shards/key_list.h"

#include <algorithm>

namespace forebay::dataset::shards {
namespace {

constexpr std::size_t kLongestKey = UINT8_MAX;  // bytes
// Bytes of a key that is as the one before it.
constexpr std::size_t kLeastBytes = 2;

// Takes the next key off the front of `packed`; `key` holds the one before it.
bool TakeKey(std::string_view& packed, std::string& key) {
  if (packed.size() < kLeastBytes) return false;
  const std::size_t shared = static_cast<std::uint8_t>(packed[0]);
  const std::size_t rest = static_cast<std::uint8_t>(packed[1]);
  packed.remove_prefix(kLeastBytes);
  if (shared > key.size() || rest > packed.size() ||
      shared + rest > kLongestKey) {
    return false;
  }
  key.resize(shared);
  key += packed.substr(0, rest);
  packed.remove_prefix(rest);
  return true;
}

}  // namespace

absl::Status KeyList::CountOneMore(base::WorkingMemory& memory) {
  return memory.MakeRoom(packed_, kLongestKey + kLeastBytes);
}

void KeyList::Add(std::string_view key) {
  key = key.substr(0, kLongestKey);
  const auto shared = static_cast<std::size_t>(
      std::mismatch(key.begin(), key.end(), last_.begin(), last_.end()).first -
      key.begin());
  packed_ += static_cast<char>(shared);
  packed_ += static_cast<char>(key.size() - shared);
  packed_ += key.substr(shared);
  last_ = key;
}

std::optional<KeyRestarts> KeyRestarts::Create(std::string_view packed,
                                               std::uint64_t count) {
  KeyRestarts points;
  points.points_.reserve(std::min(count, packed.size() / kLeastBytes) /
                         kStride);
  std::string_view rest = packed;
  std::string key;
  for (std::uint64_t i = 1; i <= count; ++i) {
    if (!TakeKey(rest, key)) return std::nullopt;
    if (i % kStride == 0)
      points.points_.push_back({packed.size() - rest.size(), key});
  }
  if (!rest.empty()) return std::nullopt;
  return points;
}

std::optional<std::string> KeyRestarts::KeyAt(std::string_view packed,
                                              std::uint64_t number) const {
  const std::uint64_t passed = number / kStride;
  if (passed > points_.size()) return std::nullopt;
  std::string key;
  if (passed > 0) {
    key = points_[passed - 1].key;
    packed.remove_prefix(points_[passed - 1].offset);
  }
  for (std::uint64_t i = passed * kStride; i <= number; ++i) {
    if (!TakeKey(packed, key)) return std::nullopt;
  }
  return key;
}

std::uint64_t KeyRestarts::memory() const {
  std::uint64_t bytes =
      sizeof(KeyRestarts) + points_.capacity() * sizeof(Point);
  for (const Point& point : points_) bytes += base::HeapBytes(point.key.size());
  return bytes;
}

std::uint64_t KeyRestarts::Bytes(std::uint64_t packed_bytes) {
  return sizeof(KeyRestarts) +
         packed_bytes / kLeastBytes / kStride *
             (sizeof(Point) + base::HeapBytes(kLongestKey));
}

}  // namespace forebay::dataset::shards
