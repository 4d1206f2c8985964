#include "server/dataset/shards/shard_index_store.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/shards/shard_index_format.h"

namespace forebay::dataset::shards {

// A NUL separates the parts, since neither a name nor a field contains a NUL.
std::string ShardIndexStore::TextOf(std::string_view dataset,
                                    const FieldChoice& fields) {
  std::string text(dataset);
  for (const std::string& field : fields.fields()) {
    text += '\0';
    text += field;
  }
  return text;
}

std::string ShardIndexStore::PointsPathOf(std::string_view dataset,
                                          const FieldChoice& fields) const {
  if (!files_.Check().ok()) return "";
  return absl::StrCat(files_.PathOf(TextOf(dataset, fields)), ".points");
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> ShardIndexStore::Load(
    std::string_view dataset, const FieldChoice& fields,
    absl::Span<const Shard> shards) const {
  const std::string text = TextOf(dataset, fields);
  FOREBAY_ASSIGN_OR_RETURN(
      auto index, files_.Load(text, [&](IndexFileReader& file,
                                        base::WorkingMemory& memory) {
        return DecodeShardIndex(file, memory, [&] {
          return compressed::LoadPoints(PointsPathOf(dataset, fields), memory);
        });
      }));
  if (!index->IsOf(fields, shards)) return files_.OfOthers(text, "shards");
  return index;
}

absl::Status ShardIndexStore::Save(std::string_view dataset,
                                   const ShardIndex& index) const {
  return files_.Save(TextOf(dataset, index.fields()), index.memory(),
                     [&] { return EncodeShardIndex(index); });
}

}  // namespace forebay::dataset::shards
