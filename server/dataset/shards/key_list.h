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

// The keys of a shard's samples, packed. Each takes a byte for how much it
// shares with the key before it, a byte for the length of the rest, and the
// rest. Keys are for people, so that only their first 255 bytes are stored.
//
// Not thread-safe; owns what it packs; never blocks. Errors: CountOneMore.
class KeyList {
 public:
  // Makes room for one more key, counted in `memory`. Errors: those of
  // `memory`.
  absl::Status CountOneMore(base::WorkingMemory& memory);
  void Add(std::string_view key);
  const std::string& packed() const { return packed_; }

 private:
  std::string packed_;
  std::string last_;
};

// The restart points of one list: every kStride-th key is kept whole, so that a
// walk to any key begins near it. Immutable, so thread-safe; never blocks.
class KeyRestarts {
 public:
  static constexpr std::uint64_t kStride = 1024;  // keys

  // Returns nothing unless `packed` is a list of `count` keys.
  static std::optional<KeyRestarts> Create(std::string_view packed,
                                           std::uint64_t count);

  // Returns key `number` of the list that the points are of. Returns nothing if
  // the list has fewer keys.
  std::optional<std::string> KeyAt(std::string_view packed,
                                   std::uint64_t number) const;

  // Bytes of memory.
  std::uint64_t memory() const;
  // The most bytes that the points of a list of so many bytes take.
  static std::uint64_t Bytes(std::uint64_t packed_bytes);

 private:
  // Stands behind a key.
  struct Point {
    std::uint64_t offset = 0;  // bytes into the list
    std::string key;
  };

  KeyRestarts() = default;

  std::vector<Point> points_;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_
