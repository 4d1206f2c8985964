#include "server/dataset/shards/shard_index_format.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset::shards {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(std::is_trivially_copyable_v<ShardRecord>);
static_assert(std::is_trivially_copyable_v<MemberRecord>);

constexpr char kMagic[8] = {'F', 'B', 'Y', 'S', 'H', 'A', 'R', 'D'};
constexpr std::uint32_t kFormatVersion = 2;

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
static_assert(sizeof(XXH128_canonical_t) == kShardIndexChecksumBytes);

XXH128_canonical_t Checksum(const void* data, std::size_t size) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
  return canonical;
}

template <typename Item>
void AppendItems(std::string& bytes, const std::vector<Item>& items) {
  bytes.append(reinterpret_cast<const char*>(items.data()),
               items.size() * sizeof(Item));
}

// Takes `count` items off the front of `bytes`; false where it has fewer.
template <typename Items>
bool TakeItems(absl::Span<const std::uint8_t>& bytes, std::uint64_t count,
               Items* items) {
  using Item = typename Items::value_type;
  if (count > bytes.size() / sizeof(Item)) return false;
  items->resize(count);
  if (count > 0) {
    std::memcpy(static_cast<void*>(items->data()), bytes.data(),
                count * sizeof(Item));
  }
  bytes.remove_prefix(count * sizeof(Item));
  return true;
}

absl::Status Damaged(std::string_view reason) {
  return absl::DataLossError(
      absl::StrCat("the index file ", std::string(reason)));
}

// The header of a file that is as it was written.
absl::StatusOr<Header> CheckFile(absl::Span<const std::uint8_t> bytes) {
  Header header;
  if (bytes.size() < sizeof(header) + kShardIndexChecksumBytes) {
    return Damaged("is too short");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return Damaged("is something else");
  }
  if (header.version != kFormatVersion || header.zero != 0) {
    return Damaged("is of another version");
  }
  const std::size_t checked = bytes.size() - kShardIndexChecksumBytes;
  const XXH128_canonical_t checksum = Checksum(bytes.data(), checked);
  if (std::memcmp(checksum.digest, bytes.data() + checked,
                  kShardIndexChecksumBytes) != 0) {
    return Damaged("does not match its checksum");
  }
  return header;
}

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
                kShardIndexChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.shards);
  AppendItems(bytes, parts.members);
  AppendItems(bytes, parts.alternatives);
  bytes += parts.names;
  bytes += parts.keys;
  bytes += fields;
  const XXH128_canonical_t checksum = Checksum(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(checksum.digest),
               sizeof(checksum.digest));
  return bytes;
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> DecodeShardIndex(
    absl::Span<const std::uint8_t> bytes) {
  const auto header = CheckFile(bytes);
  if (!header.ok()) return header.status();
  bytes.remove_prefix(sizeof(Header));
  bytes.remove_suffix(kShardIndexChecksumBytes);
  ShardIndexParts parts;
  std::string fields;
  if (!TakeItems(bytes, header->shards, &parts.shards) ||
      !TakeItems(bytes, header->members, &parts.members) ||
      !TakeItems(bytes, header->alternatives, &parts.alternatives) ||
      !TakeItems(bytes, header->names_bytes, &parts.names) ||
      !TakeItems(bytes, header->keys_bytes, &parts.keys) ||
      !TakeItems(bytes, header->fields_bytes, &fields) || !bytes.empty()) {
    return Damaged("has counts that do not match its length");
  }
  parts.fields = absl::StrSplit(fields, ' ');
  return ShardIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::shards
