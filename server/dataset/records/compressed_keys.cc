#include "server/dataset/records/compressed_keys.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::records {
namespace {

// A varint has seven bits of the number in each byte. The eighth bit says that
// more bytes follow.
constexpr unsigned kBits = 7;
constexpr unsigned kMore = 1u << kBits;
constexpr std::size_t kNumberBytes = 3;  // of the longest varint

// Appends a number as a varint.
void AddNumber(std::uint64_t number, std::string* bytes) {
  while (number >= kMore) {
    *bytes += static_cast<char>(number % kMore | kMore);
    number /= kMore;
  }
  *bytes += static_cast<char>(number);
}

// Removes a varint from the front of `bytes`, and returns its number. Returns
// nothing if it is malformed.
std::optional<std::uint64_t> TakeNumber(std::string_view* bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < std::min(bytes->size(), kNumberBytes); ++i) {
    const auto byte = static_cast<std::uint8_t>((*bytes)[i]);
    number |= std::uint64_t{byte % kMore} << (kBits * i);
    if (byte < kMore) {
      bytes->remove_prefix(i + 1);
      return number;
    }
  }
  return std::nullopt;
}

// The start of an entry: the number of bytes that its key shares with the key
// before it, and the number of its key's other bytes.
struct KeyStart {
  std::uint64_t shared = 0;
  std::uint64_t more = 0;
};

// Removes the start of an entry from the front of `bytes`, and returns it. The
// key before this entry has `last` bytes. Returns nothing if the entry is
// malformed, or if `bytes` end within it.
std::optional<KeyStart> TakeStart(std::uint64_t last, std::string_view* bytes) {
  const auto shared = TakeNumber(bytes);
  if (!shared.has_value() || *shared > last) return std::nullopt;
  const auto more = TakeNumber(bytes);
  if (!more.has_value() || *more > bytes->size() ||
      *shared + *more > kLongestKey) {
    return std::nullopt;
  }
  return KeyStart{*shared, *more};
}

// Skips an entry whose two varints take one byte each, as in most entries.
// `*last` is the length of the key before the entry, and is set to the length
// of the entry's key. If the entry has longer varints or is malformed, returns
// false and changes nothing.
inline bool SkipShortKey(std::uint64_t* last, std::string_view* bytes) {
  if (bytes->size() < 2) return false;
  const auto shared = static_cast<std::uint8_t>((*bytes)[0]);
  const auto more = static_cast<std::uint8_t>((*bytes)[1]);
  if ((shared | more) >= kMore || shared > *last || more > bytes->size() - 2)
    return false;
  *last = shared + more;
  bytes->remove_prefix(2 + more);
  return true;
}

}  // namespace

absl::Status KeyCompressor::Add(std::string_view key,
                                base::WorkingMemory& memory) {
  if (key.size() > kLongestKey) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a key has ", key.size(), " bytes, more than ", kLongestKey));
  }
  FOREBAY_RETURN_IF_ERROR(
      memory.MakeRoom(compressed_.bytes, key.size() + 2 * kNumberBytes));
  if (count_++ % kKeysTogether == 0) {
    FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(compressed_.blocks, 1));
    compressed_.blocks.push_back(compressed_.bytes.size());
    last_.clear();
  }
  const auto shared = static_cast<std::size_t>(
      std::mismatch(key.begin(), key.end(), last_.begin(), last_.end()).first -
      key.begin());
  AddNumber(shared, &compressed_.bytes);
  AddNumber(key.size() - shared, &compressed_.bytes);
  compressed_.bytes += key.substr(shared);
  last_ = key;
  return absl::OkStatus();
}

CompressedKeys KeyCompressor::Take() { return std::exchange(compressed_, {}); }

std::optional<std::uint64_t> MeasureBlock(std::string_view compressed,
                                          std::uint64_t count,
                                          std::uint64_t* longest) {
  std::string_view rest = compressed;
  std::uint64_t last = 0;
  std::uint64_t most = *longest;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!SkipShortKey(&last, &rest)) {
      const auto start = TakeStart(last, &rest);
      if (!start.has_value()) return std::nullopt;
      last = start->shared + start->more;
      rest.remove_prefix(start->more);
    }
    most = std::max(most, last);
  }
  *longest = most;
  return compressed.size() - rest.size();
}

bool KeyReader::Next() {
  if (count_++ % kKeysTogether == 0) key_.clear();
  const auto start = TakeStart(key_.size(), &rest_);
  if (!start.has_value()) return false;
  key_.resize(start->shared);
  key_ += rest_.substr(0, start->more);
  rest_.remove_prefix(start->more);
  return true;
}

}  // namespace forebay::dataset::records
