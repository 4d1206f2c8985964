#include "server/dataset/records/packed_keys.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::records {
namespace {

constexpr unsigned kBits = 7;  // of a number in each byte
constexpr unsigned kMore = 1u << kBits;
constexpr std::size_t kNumberBytes = 3;  // of a key's length, at most

void AddNumber(std::uint64_t number, std::string* bytes) {
  while (number >= kMore) {
    *bytes += static_cast<char>(number % kMore | kMore);
    number /= kMore;
  }
  *bytes += static_cast<char>(number);
}

// Takes a number off the front.
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

// How a key differs from the one before it: the bytes that they share, and the
// number of further ones.
struct KeyStart {
  std::uint64_t shared = 0;
  std::uint64_t more = 0;
};

// Takes the start of a key off the front, behind a key of `last` bytes.
// Nothing: it is malformed, or its further bytes are not all there.
std::optional<KeyStart> TakeStart(std::uint64_t last, std::string_view* bytes) {
  std::optional<std::uint64_t> shared;
  std::optional<std::uint64_t> more;
  // Both mostly take one byte.
  if (bytes->size() >= 2 && static_cast<std::uint8_t>((*bytes)[0]) < kMore &&
      static_cast<std::uint8_t>((*bytes)[1]) < kMore) {
    shared = (*bytes)[0];
    more = (*bytes)[1];
    bytes->remove_prefix(2);
  } else {
    shared = TakeNumber(bytes);
    more = TakeNumber(bytes);
  }
  if (!shared.has_value() || *shared > last || !more.has_value() ||
      *more > bytes->size() || *shared + *more > kLongestKey) {
    return std::nullopt;
  }
  return KeyStart{*shared, *more};
}

}  // namespace

absl::Status KeyPacker::Add(std::string_view key, base::WorkingMemory& memory) {
  if (key.size() > kLongestKey) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a key has ", key.size(), " bytes, more than ", kLongestKey));
  }
  FOREBAY_RETURN_IF_ERROR(
      memory.MakeRoom(packed_.bytes, key.size() + 2 * kNumberBytes));
  if (count_++ % kKeysTogether == 0) {
    FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(packed_.blocks, 1));
    packed_.blocks.push_back(packed_.bytes.size());
    last_.clear();
  }
  const auto shared = static_cast<std::size_t>(
      std::mismatch(key.begin(), key.end(), last_.begin(), last_.end()).first -
      key.begin());
  AddNumber(shared, &packed_.bytes);
  AddNumber(key.size() - shared, &packed_.bytes);
  packed_.bytes += key.substr(shared);
  last_ = key;
  return absl::OkStatus();
}

PackedKeys KeyPacker::Take() { return std::exchange(packed_, {}); }

std::optional<std::uint64_t> MeasureBlock(std::string_view packed,
                                          std::uint64_t count,
                                          std::uint64_t* longest) {
  std::string_view rest = packed;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto start = TakeStart(last, &rest);
    if (!start.has_value()) return std::nullopt;
    last = start->shared + start->more;
    *longest = std::max(*longest, last);
    rest.remove_prefix(start->more);
  }
  return packed.size() - rest.size();
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
