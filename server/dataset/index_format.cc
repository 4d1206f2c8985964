#include "server/dataset/index_format.h"

#include <cstring>
#include <utility>

#include "server/base/status.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset {
namespace {

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
                kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.directories);
  AppendItems(bytes, parts.records);
  bytes += parts.names;
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const Index>> DecodeIndex(
    absl::Span<const std::uint8_t> bytes, std::uint32_t format,
    base::WorkingMemory& memory) {
  Header header;
  if (bytes.size() < sizeof(header) + kIndexFileChecksumBytes) {
    return DamagedIndexFile("is too short");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return DamagedIndexFile("is something else");
  }
  if (header.version != kFormatVersion || header.format != format ||
      header.zero != 0) {
    return DamagedIndexFile("is of another version");
  }
  FOREBAY_ASSIGN_OR_RETURN(bytes, UnsealIndexFile(bytes));
  bytes.remove_prefix(sizeof(header));
  const std::uint64_t longest = bytes.size();
  if (header.directories > longest || header.samples > longest ||
      header.names_bytes > longest) {
    return DamagedIndexFile("has counts that do not match its length");
  }
  IndexParts parts;
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(Index::Bytes(header.directories, header.samples,
                               header.names_bytes)));
  parts.scanned_at_nanos = header.scanned_at_nanos;
  parts.link_context = header.link_context;
  if (!TakeItems(bytes, header.directories, &parts.directories) ||
      !TakeItems(bytes, header.samples, &parts.records) ||
      !TakeItems(bytes, header.names_bytes, &parts.names) || !bytes.empty()) {
    return DamagedIndexFile("has counts that do not match its length");
  }
  return Index::Create(std::move(parts));
}

}  // namespace forebay::dataset
