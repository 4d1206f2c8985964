#include "server/dataset/index_format.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::dataset {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(std::is_trivially_copyable_v<IndexDirectory>);
static_assert(std::is_trivially_copyable_v<IndexRecord>);

constexpr char kMagic[8] = {'F', 'B', 'Y', 'I', 'N', 'D', 'E', 'X'};
constexpr std::uint32_t kFormatVersion = 1;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t format;
  std::int64_t scanned_at_nanos;
  std::uint64_t link_context;
  std::uint64_t directories;
  std::uint64_t samples;
  std::uint64_t names_bytes;
  std::uint64_t zero;
};
static_assert(sizeof(Header) == 64);
static_assert(sizeof(XXH128_canonical_t) == kIndexChecksumBytes);

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

// Takes `count` items off the front of `bytes`, which has as many.
template <typename Item>
std::vector<Item> TakeItems(absl::Span<const std::uint8_t>& bytes,
                            std::uint64_t count) {
  std::vector<Item> items(count);
  if (count > 0) {
    std::memcpy(static_cast<void*>(items.data()), bytes.data(),
                count * sizeof(Item));
  }
  bytes.remove_prefix(count * sizeof(Item));
  return items;
}

absl::Status Damaged(std::string_view reason) {
  return absl::DataLossError(absl::StrCat(
      "the index file ", absl::string_view(reason.data(), reason.size())));
}

}  // namespace

std::string EncodeIndex(const Index& index, std::uint32_t format) {
  const IndexParts& parts = index.parts();
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.format = format;
  header.scanned_at_nanos = parts.scanned_at_nanos;
  header.link_context = parts.link_context;
  header.directories = parts.directories.size();
  header.samples = parts.records.size();
  header.names_bytes = parts.names.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + header.directories * sizeof(IndexDirectory) +
                header.samples * sizeof(IndexRecord) + header.names_bytes +
                kIndexChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.directories);
  AppendItems(bytes, parts.records);
  bytes += parts.names;
  const XXH128_canonical_t checksum = Checksum(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(checksum.digest),
               sizeof(checksum.digest));
  return bytes;
}

absl::StatusOr<std::shared_ptr<const Index>> DecodeIndex(
    absl::Span<const std::uint8_t> bytes, std::uint32_t format) {
  Header header;
  if (bytes.size() < sizeof(header) + kIndexChecksumBytes) {
    return Damaged("is too short");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return Damaged("is something else");
  }
  if (header.version != kFormatVersion || header.format != format ||
      header.zero != 0) {
    return Damaged("is of another version");
  }
  const std::size_t checked = bytes.size() - kIndexChecksumBytes;
  const XXH128_canonical_t checksum = Checksum(bytes.data(), checked);
  if (std::memcmp(checksum.digest, bytes.data() + checked,
                  kIndexChecksumBytes) != 0) {
    return Damaged("does not match its checksum");
  }
  bytes = bytes.subspan(sizeof(header), checked - sizeof(header));
  // Each count is bounded by the bytes there are before it is multiplied.
  const std::uint64_t size = bytes.size();
  if (header.directories > size / sizeof(IndexDirectory) ||
      header.samples > size / sizeof(IndexRecord) ||
      header.names_bytes > size ||
      header.directories * sizeof(IndexDirectory) +
              header.samples * sizeof(IndexRecord) + header.names_bytes !=
          size) {
    return Damaged("has counts that do not match its length");
  }
  IndexParts parts;
  parts.scanned_at_nanos = header.scanned_at_nanos;
  parts.link_context = header.link_context;
  parts.directories = TakeItems<IndexDirectory>(bytes, header.directories);
  parts.records = TakeItems<IndexRecord>(bytes, header.samples);
  parts.names.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return Index::Create(std::move(parts));
}

}  // namespace forebay::dataset
