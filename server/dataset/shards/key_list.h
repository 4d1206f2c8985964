#ifndef FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_
#define FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/base/working_memory.h"

namespace forebay::dataset::shards {

// The keys of a shard's samples, prefix-compressed. An entry begins with two
// bytes: the number of leading bytes that the key shares with the key before
// it, and the number of its other bytes. The other bytes follow. Keys are only
// shown to people, so only their first 255 bytes are stored.
//
// Not thread-safe. Owns the list. Never blocks. Only CountOneMore has errors.
class KeyList {
 public:
  // Makes room for one more key of any length, and counts it in `memory`.
  // Errors: those of `memory`.
  absl::Status CountOneMore(base::WorkingMemory& memory);
  // Appends a key. The caller has called CountOneMore for this key.
  void Add(std::string_view key);
  // Returns the list's bytes.
  const std::string& compressed() const { return compressed_; }

 private:
  std::string compressed_;
  std::string last_;  // the key added last
};

// The restart points of one KeyList: every kStride-th key is stored in full, so
// that a walk to any key begins at most kStride keys before it.
//
// Immutable and thread-safe. Owns the points, but not the list. Never blocks.
// Has no errors.
class KeyRestarts {
 public:
  static constexpr std::uint64_t kStride = 1024;  // keys

  // Finds the restart points of `compressed`. Returns nothing unless it is a
  // well-formed list of `count` keys.
  static std::optional<KeyRestarts> Create(std::string_view compressed,
                                           std::uint64_t count);

  // Returns key number `number` of `compressed`, the list from which the points
  // were created. Returns nothing if the list has no such key.
  std::optional<std::string> KeyAt(std::string_view compressed,
                                   std::uint64_t number) const;

  // Returns the memory that the points take, in bytes.
  std::uint64_t memory() const;
  // Returns an upper bound of the memory, in bytes, that the points of a list
  // of `compressed_bytes` bytes take.
  static std::uint64_t Bytes(std::uint64_t compressed_bytes);

 private:
  // A place in the list, behind the entry of a key.
  struct Point {
    std::uint64_t offset = 0;  // bytes into the list
    std::string key;           // the key before `offset`, in full
  };

  KeyRestarts() = default;

  std::vector<Point> points_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_
