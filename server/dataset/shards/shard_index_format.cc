#include "server/dataset/shards/shard_index_format.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/base/status.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset::shards {
namespace {

constexpr char kMagic[8] = {'F', 'B', 'Y', 'S', 'H', 'A', 'R', 'D'};
constexpr std::uint32_t kFormatVersion = 3;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t zero;
  std::uint64_t shards;
  std::uint64_t members;
  std::uint64_t alternatives;
  std::uint64_t names_bytes;
  std::uint64_t fields_bytes;
  std::uint64_t keys_bytes;
};
static_assert(sizeof(Header) == 64);

}  // namespace

std::string EncodeShardIndex(const ShardIndex& index) {
  const ShardIndexParts& parts = index.parts();
  const std::string fields = absl::StrJoin(parts.fields, " ");
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.shards = parts.shards.size();
  header.members = parts.members.size();
  header.alternatives = parts.alternatives.size();
  header.names_bytes = parts.names.size();
  header.fields_bytes = fields.size();
  header.keys_bytes = parts.keys.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + header.shards * sizeof(ShardRecord) +
                header.members * sizeof(MemberRecord) + header.alternatives +
                header.names_bytes + header.keys_bytes + header.fields_bytes +
                kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.shards);
  AppendItems(bytes, parts.members);
  AppendItems(bytes, parts.alternatives);
  bytes += parts.names;
  bytes += parts.keys;
  bytes += fields;
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> DecodeShardIndex(
    absl::Span<const std::uint8_t> bytes, base::WorkingMemory& memory) {
  Header header;
  if (bytes.size() < sizeof(header) + kIndexFileChecksumBytes) {
    return DamagedIndexFile("is too short");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return DamagedIndexFile("is something else");
  }
  if (header.version != kFormatVersion || header.zero != 0) {
    return DamagedIndexFile("is of another version");
  }
  FOREBAY_ASSIGN_OR_RETURN(bytes, UnsealIndexFile(bytes));
  bytes.remove_prefix(sizeof(header));
  ShardIndexParts parts;
  // What the parts are copied to is no longer than where they come from.
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation, memory.Keep(ShardIndex::Bytes(0, 0, 0, bytes.size())));
  std::string fields;
  if (!TakeItems(bytes, header.shards, &parts.shards) ||
      !TakeItems(bytes, header.members, &parts.members) ||
      !TakeItems(bytes, header.alternatives, &parts.alternatives) ||
      !TakeItems(bytes, header.names_bytes, &parts.names) ||
      !TakeItems(bytes, header.keys_bytes, &parts.keys) ||
      !TakeItems(bytes, header.fields_bytes, &fields) || !bytes.empty()) {
    return DamagedIndexFile("has counts that do not match its length");
  }
  parts.fields = absl::StrSplit(fields, ' ');
  return ShardIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::shards
