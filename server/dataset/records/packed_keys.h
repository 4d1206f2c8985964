#ifndef FOREBAY_SERVER_DATASET_RECORDS_PACKED_KEYS_H_
#define FOREBAY_SERVER_DATASET_RECORDS_PACKED_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"

// The keys of records, packed in blocks of kKeysTogether. A key has the number
// of bytes that it shares with the one before it in the block, the number of
// further ones, each as a varint (seven bits a byte, the lowest first), and
// these. Thread-safe, but for KeyPacker; never block.

namespace forebay::dataset::records {

inline constexpr std::uint64_t kKeysTogether = 32;
inline constexpr std::uint64_t kLongestKey = std::uint64_t{1} << 16;  // bytes

struct PackedKeys {
  std::string bytes;
  std::vector<std::uint64_t> blocks;  // where each begins in `bytes`
};

// Packs keys. Owns what it packs.
class KeyPacker {
 public:
  // Counts in `memory` what it makes. INVALID_ARGUMENT: the key is too long;
  // others: those of `memory`.
  absl::Status Add(std::string_view key, base::WorkingMemory& memory);
  PackedKeys Take();

 private:
  PackedKeys packed_;
  std::string last_;
  std::uint64_t count_ = 0;
};

// Returns the bytes of the `count` keys, at most kKeysTogether, of the block
// that `packed` begins with, and raises `longest` to their longest. Nothing:
// they are malformed.
std::optional<std::uint64_t> MeasureBlock(std::string_view packed,
                                          std::uint64_t count,
                                          std::uint64_t* longest);

// Walks through keys from the front.
class KeyReader {
 public:
  // Some blocks, the first of which begins with `packed`. It outlives this.
  explicit KeyReader(std::string_view packed) : rest_(packed) {}

  // Goes to the next key. Returns false if there is none, or it is malformed.
  bool Next();
  // The key that it went to.
  const std::string& key() const { return key_; }

 private:
  std::string_view rest_;
  std::string key_;
  std::uint64_t count_ = 0;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_PACKED_KEYS_H_
