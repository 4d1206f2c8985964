#include "server/dataset/shards/key_list.h"

#include <algorithm>

// Keys of consecutive samples mostly begin alike ("n01440764/n01440764_10026"),
// so an entry takes about three bytes. Keys can only be decoded from the front
// of the list; restart points shorten the walk to a key.

namespace forebay::dataset::shards {
namespace {

// The longest key, in bytes: an entry states each of its two lengths in a byte.
constexpr std::size_t kLongestKey = UINT8_MAX;  // bytes
// The bytes of the shortest entry: that of a key that equals the key before it.
constexpr std::size_t kLeastBytes = 2;

// Removes the first entry from `compressed`. `key` holds the key before this
// entry, and is set to the entry's key. Returns false if the entry is
// malformed.
bool TakeKey(std::string_view& compressed, std::string& key) {
  if (compressed.size() < kLeastBytes) return false;
  const std::size_t shared = static_cast<std::uint8_t>(compressed[0]);
  const std::size_t rest = static_cast<std::uint8_t>(compressed[1]);
  compressed.remove_prefix(kLeastBytes);
  if (shared > key.size() || rest > compressed.size() ||
      shared + rest > kLongestKey) {
    return false;
  }
  key.resize(shared);
  key += compressed.substr(0, rest);
  compressed.remove_prefix(rest);
  return true;
}

}  // namespace

absl::Status KeyList::CountOneMore(base::WorkingMemory& memory) {
  return memory.MakeRoom(compressed_, kLongestKey + kLeastBytes);
}

void KeyList::Add(std::string_view key) {
  key = key.substr(0, kLongestKey);
  const auto shared = static_cast<std::size_t>(
      std::mismatch(key.begin(), key.end(), last_.begin(), last_.end()).first -
      key.begin());
  compressed_ += static_cast<char>(shared);
  compressed_ += static_cast<char>(key.size() - shared);
  compressed_ += key.substr(shared);
  last_ = key;
}

std::optional<KeyRestarts> KeyRestarts::Create(std::string_view compressed,
                                               std::uint64_t count) {
  KeyRestarts points;
  points.points_.reserve(std::min(count, compressed.size() / kLeastBytes) /
                         kStride);
  std::string_view rest = compressed;
  std::string key;
  for (std::uint64_t i = 1; i <= count; ++i) {
    if (!TakeKey(rest, key)) return std::nullopt;
    if (i % kStride == 0)
      points.points_.push_back({compressed.size() - rest.size(), key});
  }
  if (!rest.empty()) return std::nullopt;
  return points;
}

std::optional<std::string> KeyRestarts::KeyAt(std::string_view compressed,
                                              std::uint64_t number) const {
  const std::uint64_t passed = number / kStride;
  if (passed > points_.size()) return std::nullopt;
  std::string key;
  if (passed > 0) {
    key = points_[passed - 1].key;
    compressed.remove_prefix(points_[passed - 1].offset);
  }
  for (std::uint64_t i = passed * kStride; i <= number; ++i) {
    if (!TakeKey(compressed, key)) return std::nullopt;
  }
  return key;
}

std::uint64_t KeyRestarts::memory() const {
  std::uint64_t bytes =
      sizeof(KeyRestarts) + points_.capacity() * sizeof(Point);
  for (const Point& point : points_) bytes += base::HeapBytes(point.key.size());
  return bytes;
}

std::uint64_t KeyRestarts::Bytes(std::uint64_t compressed_bytes) {
  return sizeof(KeyRestarts) +
         compressed_bytes / kLeastBytes / kStride *
             (sizeof(Point) + base::HeapBytes(kLongestKey));
}

}  // namespace forebay::dataset::shards
