#include "server/dataset/shards/shard_index_store.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/own_file.h"
#include "server/dataset/shards/shard_index_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset::shards {
namespace {

// Bytes of the file besides the index's parts.
constexpr std::uint64_t kFileBytes = 4096;

}  // namespace

// Two datasets with one digest replace each other's file. Then neither finds
// its own, and both are scanned.
std::string ShardIndexStore::PathOf(std::string_view dataset,
                                    const FieldChoice& fields) const {
  std::string text(dataset);
  for (const std::string& field : fields.fields()) {
    text += '\0';
    text += field;
  }
  const XXH128_hash_t digest = XXH3_128bits(text.data(), text.size());
  return absl::StrCat(directory_, "/",
                      absl::Hex(digest.high64, absl::kZeroPad16),
                      absl::Hex(digest.low64, absl::kZeroPad16), ".shards");
}

std::string ShardIndexStore::PointsPathOf(std::string_view dataset,
                                          const FieldChoice& fields) const {
  return absl::StrCat(PathOf(dataset, fields), ".points");
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> ShardIndexStore::Load(
    std::string_view dataset, const FieldChoice& fields,
    absl::Span<const Shard> shards) const {
  const std::string path = PathOf(dataset, fields);
  base::WorkingMemory memory(budget_, "a kept index");
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes,
                           ReadOwnFile(path, memory));
  auto index = DecodeShardIndex(bytes, memory, [&] {
    return inflated::LoadPoints(PointsPathOf(dataset, fields), memory);
  });
  if (!index.ok()) return base::Annotate(index.status(), path);
  if (!(*index)->IsOf(fields, shards)) {
    return absl::NotFoundError(
        absl::StrCat(path, ": is of other shards than there are now"));
  }
  return index;
}

absl::Status ShardIndexStore::Save(std::string_view dataset,
                                   const ShardIndex& index) const {
  base::WorkingMemory memory(budget_, "the file of an index");
  FOREBAY_RETURN_IF_ERROR(memory.Grow(index.memory() + kFileBytes));
  return ReplaceOwnFile(PathOf(dataset, index.fields()),
                        EncodeShardIndex(index));
}

}  // namespace forebay::dataset::shards
