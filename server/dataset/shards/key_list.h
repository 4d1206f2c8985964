#ifndef FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_
#define FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/base/working_memory.h"

namespace forebay::dataset::shards {

// The keys of a shard's samples, packed: for each, in a byte, how much of the
// one before it begins with; in another, how much follows; and that. Keys are
// for people, so that more than 255 bytes of one are not kept.
//
// Not thread-safe; owns what it packs; never blocks. Errors: CountOneMore.
class KeyList {
 public:
  // Makes room for one more key, counted in `memory`: its errors.
  absl::Status CountOneMore(base::WorkingMemory& memory);
  void Add(std::string_view key);
  const std::string& packed() const { return packed_; }

 private:
  std::string packed_;
  std::string last_;
};

// Whether `packed` is a list of just `count` keys. Thread-safe; never blocks.
bool IsKeyList(std::string_view packed, std::uint64_t count);

// Key number `number` of a list; nothing if it has fewer, or is none. Goes
// through all before. Thread-safe; never blocks.
std::optional<std::string> KeyAt(std::string_view packed, std::uint64_t number);

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_KEY_LIST_H_
