#include "server/dataset/shards/shard_index_format.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/base/status.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset::shards {
namespace {

constexpr IndexFileType kType = {
    {'F', 'B', 'Y', 'S', 'H', 'A', 'R', 'D'}, 5, 0};

// The header of the file, as shard_index_format.h describes it.
struct Header {
  IndexFileType type;
  std::uint64_t shards;
  std::uint64_t members;
  std::uint64_t alternatives;
  std::uint64_t decompressed;
  std::uint64_t names_bytes;
  std::uint64_t fields_bytes;
  std::uint64_t keys_bytes;
};
static_assert(sizeof(Header) == 72);

}  // namespace

std::string EncodeShardIndex(const ShardIndex& index) {
  const ShardIndexParts& parts = index.parts();
  const std::string fields = absl::StrJoin(parts.fields, "/");
  Header header = {};
  header.type = kType;
  header.shards = parts.shards.size();
  header.members = parts.members.size();
  header.alternatives = parts.alternatives.size();
  header.decompressed = parts.decompressed.size();
  header.names_bytes = parts.names.size();
  header.fields_bytes = fields.size();
  header.keys_bytes = parts.keys.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + header.shards * sizeof(ShardRecord) +
                header.members * sizeof(MemberRecord) + header.alternatives +
                header.decompressed * sizeof(std::uint32_t) +
                header.names_bytes + header.keys_bytes + header.fields_bytes +
                kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.shards);
  AppendItems(bytes, parts.members);
  AppendItems(bytes, parts.alternatives);
  AppendItems(bytes, parts.decompressed);
  bytes += parts.names;
  bytes += parts.keys;
  bytes += fields;
  compressed::AppendPoints(bytes, parts.points);
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> DecodeShardIndex(
    IndexFileReader& file, base::WorkingMemory& memory,
    const compressed::FindPoints& find_points) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header, file.TakeHeader<Header>(kType));
  ShardIndexParts parts;
  // The parts take as many bytes in memory as in the file, except for `shards`,
  // which take more.
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(ShardIndex::Bytes(
          std::min(header.shards, file.left() / sizeof(ShardRecord)), 0, 0, 0,
          file.left())));
  std::string fields;
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.shards, &parts.shards));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.members, &parts.members));
  FOREBAY_RETURN_IF_ERROR(
      file.TakeItems(header.alternatives, &parts.alternatives));
  FOREBAY_RETURN_IF_ERROR(
      file.TakeItems(header.decompressed, &parts.decompressed));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.names_bytes, &parts.names));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.keys_bytes, &parts.keys));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.fields_bytes, &fields));
  FOREBAY_ASSIGN_OR_RETURN(parts.points,
                           compressed::TakePoints(file, find_points));
  FOREBAY_RETURN_IF_ERROR(file.Finish());
  parts.fields = absl::StrSplit(fields, '/');
  return ShardIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::shards
