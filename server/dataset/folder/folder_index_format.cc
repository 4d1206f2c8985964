#include "server/dataset/folder/folder_index_format.h"

#include <utility>

#include "server/base/status.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset::folder {
namespace {

constexpr IndexFileType TypeOf(std::uint32_t dataset_format) {
  return {{'F', 'B', 'Y', 'I', 'N', 'D', 'E', 'X'}, 1, dataset_format};
}

struct Header {
  IndexFileType type;
  std::int64_t scanned_at_nanos;
  std::uint64_t link_context;
  std::uint64_t directories;
  std::uint64_t samples;
  std::uint64_t names_bytes;
  std::uint64_t zero;
};
static_assert(sizeof(Header) == 64);

}  // namespace

std::string EncodeFolderIndex(const FolderIndex& index, std::uint32_t format) {
  const FolderIndexParts& parts = index.parts();
  Header header = {};
  header.type = TypeOf(format);
  header.scanned_at_nanos = parts.scanned_at_nanos;
  header.link_context = parts.link_context;
  header.directories = parts.directories.size();
  header.samples = parts.records.size();
  header.names_bytes = parts.names.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + header.directories * sizeof(DirectoryRecord) +
                header.samples * sizeof(FileRecord) + header.names_bytes +
                kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.directories);
  AppendItems(bytes, parts.records);
  bytes += parts.names;
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> DecodeFolderIndex(
    absl::Span<const std::uint8_t> bytes, std::uint32_t format,
    base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header,
                           TakeIndexFileHeader<Header>(TypeOf(format), bytes));
  if (header.zero != 0) return DamagedIndexFile("is of another version");
  const std::uint64_t longest = bytes.size();
  if (header.directories > longest || header.samples > longest ||
      header.names_bytes > longest) {
    return DamagedIndexFile("has counts that do not match its length");
  }
  FolderIndexParts parts;
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(FolderIndex::Bytes(header.directories, header.samples,
                                     header.names_bytes)));
  parts.scanned_at_nanos = header.scanned_at_nanos;
  parts.link_context = header.link_context;
  if (!TakeItems(bytes, header.directories, &parts.directories) ||
      !TakeItems(bytes, header.samples, &parts.records) ||
      !TakeItems(bytes, header.names_bytes, &parts.names) || !bytes.empty()) {
    return DamagedIndexFile("has counts that do not match its length");
  }
  return FolderIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::folder
