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

struct Header {
  IndexFileType type;
  std::uint64_t shards;
  std::uint64_t members;
  std::uint64_t alternatives;
  std::uint64_t inflated;
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
  header.inflated = parts.inflated.size();
  header.names_bytes = parts.names.size();
  header.fields_bytes = fields.size();
  header.keys_bytes = parts.keys.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + header.shards * sizeof(ShardRecord) +
                header.members * sizeof(MemberRecord) + header.alternatives +
                header.inflated * sizeof(std::uint32_t) + header.names_bytes +
                header.keys_bytes + header.fields_bytes +
                kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.shards);
  AppendItems(bytes, parts.members);
  AppendItems(bytes, parts.alternatives);
  AppendItems(bytes, parts.inflated);
  bytes += parts.names;
  bytes += parts.keys;
  bytes += fields;
  inflated::AppendPoints(bytes, parts.points);
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> DecodeShardIndex(
    IndexFileReader& file, base::WorkingMemory& memory,
    const inflated::FindPoints& find_points) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header, file.TakeHeader<Header>(kType));
  ShardIndexParts parts;
  // The parts are no longer in memory than in the file, but for the shards'.
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
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.inflated, &parts.inflated));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.names_bytes, &parts.names));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.keys_bytes, &parts.keys));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.fields_bytes, &fields));
  FOREBAY_ASSIGN_OR_RETURN(parts.points,
                           inflated::TakePoints(file, find_points));
  FOREBAY_RETURN_IF_ERROR(file.Finish());
  parts.fields = absl::StrSplit(fields, '/');
  return ShardIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::shards
