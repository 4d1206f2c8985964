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

std::optional<std::uint64_t> KeyReader::TakeNumber() {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < std::min(rest_.size(), kNumberBytes); ++i) {
    const auto byte = static_cast<std::uint8_t>(rest_[i]);
    number |= std::uint64_t{byte % kMore} << (kBits * i);
    if (byte < kMore) {
      rest_.remove_prefix(i + 1);
      return number;
    }
  }
  return std::nullopt;
}

bool KeyReader::Next() {
  if (count_++ % kKeysTogether == 0) key_.clear();
  const auto shared = TakeNumber();
  if (!shared.has_value() || *shared > key_.size()) return false;
  const auto more = TakeNumber();
  if (!more.has_value() || *more > rest_.size() ||
      *shared + *more > kLongestKey) {
    return false;
  }
  key_.resize(*shared);
  key_ += rest_.substr(0, *more);
  rest_.remove_prefix(*more);
  return true;
}

}  // namespace forebay::dataset::records
