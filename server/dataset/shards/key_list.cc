#include "server/dataset/shards/key_list.h"

#include <algorithm>

namespace forebay::dataset::shards {
namespace {

constexpr std::size_t kLongestKey = UINT8_MAX;  // bytes

// Takes the next key off the front of `packed`; `key` holds the one before it.
bool TakeKey(std::string_view& packed, std::string& key) {
  if (packed.size() < 2) return false;
  const std::size_t shared = static_cast<std::uint8_t>(packed[0]);
  const std::size_t rest = static_cast<std::uint8_t>(packed[1]);
  packed.remove_prefix(2);
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
  return memory.MakeRoom(packed_, kLongestKey + 2);
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

bool IsKeyList(std::string_view packed, std::uint64_t count) {
  std::string key;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!TakeKey(packed, key)) return false;
  }
  return packed.empty();
}

std::optional<std::string> KeyAt(std::string_view packed,
                                 std::uint64_t number) {
  std::string key;
  for (std::uint64_t i = 0; i <= number; ++i) {
    if (!TakeKey(packed, key)) return std::nullopt;
  }
  return key;
}

}  // namespace forebay::dataset::shards
