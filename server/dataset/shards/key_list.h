#ifndef FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_
#define FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// Whether `packed` is a list of `count` keys. Thread-safe; never blocks.
bool IsKeyList(std::string_view packed, std::uint64_t count);

// Returns key `number` of a list, after a walk through all keys before it.
// Returns nothing if the list has fewer keys, or is malformed. Thread-safe;
// never blocks.
std::optional<std::string> KeyAt(std::string_view packed, std::uint64_t number);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_
