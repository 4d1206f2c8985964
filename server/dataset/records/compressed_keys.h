#ifndef FOREBAY_SERVER_DATASET_RECORDS_COMPRESSED_KEYS_H_
#define FOREBAY_SERVER_DATASET_RECORDS_COMPRESSED_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"

// The keys of records, prefix-compressed in blocks of kKeysTogether keys. An
// entry begins with two varints (seven bits a byte, the lowest first). The
// first is the number of leading bytes that the key shares with the key before
// it in the block. The second is the number of the key's other bytes. The other
// bytes follow. The functions are thread-safe and never block; each class has a
// contract of its own.

namespace forebay::dataset::records {

// The number of keys in a block. Finding a key decodes at most that many
// entries.
inline constexpr std::uint64_t kKeysTogether = 32;
inline constexpr std::uint64_t kLongestKey = std::uint64_t{1} << 16;  // bytes

// Compressed keys, in the order of their records.
struct CompressedKeys {
  std::string bytes;
  std::vector<std::uint64_t> blocks;  // offset of each block in `bytes`
};

// Compresses keys, one after another. Owns the result. Used by one thread;
// never blocks.
class KeyCompressor {
 public:
  // Appends a key, and counts the memory that it takes in `memory`.
  // INVALID_ARGUMENT: the key has over kLongestKey bytes; others: those of
  // `memory`.
  absl::Status Add(std::string_view key, base::WorkingMemory& memory);
  // Returns the compressed keys. The compressor has no keys afterwards.
  CompressedKeys Take();

 private:
  CompressedKeys compressed_;
  std::string last_;  // the last added key, if it is in the present block
  std::uint64_t count_ = 0;
};

// Returns the length in bytes of the block at the start of `compressed`. The
// block has `count` keys, at most kKeysTogether. Sets `*longest` to the length
// of the block's longest key, if that is more than `*longest`. Returns nothing
// if the block is malformed.
std::optional<std::uint64_t> MeasureBlock(std::string_view compressed,
                                          std::uint64_t count,
                                          std::uint64_t* longest);

// Walks through compressed keys from the first on. Used by one thread; owns the
// present key; never blocks.
class KeyReader {
 public:
  // Begins before the first key. `compressed` starts with a block, and outlives
  // the reader.
  explicit KeyReader(std::string_view compressed) : rest_(compressed) {}

  // Goes to the next key. Returns false if there are no more keys, or the next
  // entry is malformed.
  bool Next();
  // Returns the key that the last Next went to.
  const std::string& key() const { return key_; }

 private:
  std::string_view rest_;
  std::string key_;
  std::uint64_t count_ = 0;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_COMPRESSED_KEYS_H_
