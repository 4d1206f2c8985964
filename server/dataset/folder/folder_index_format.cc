#include "server/dataset/folder/folder_index_format.h"

#include <utility>

#include "server/base/status.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset::folder {
namespace {

// Returns the type of index files of the given format. Their version is 1.
constexpr IndexFileType TypeOf(std::uint32_t dataset_format) {
  return {{'F', 'B', 'Y', 'I', 'N', 'D', 'E', 'X'}, 1, dataset_format};
}

// The header of the file, as folder_index_format.h describes it.
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

void AppendFolderIndex(std::string& bytes, const FolderIndex& index,
                       std::uint32_t format) {
  const FolderIndexParts& parts = index.parts();
  Header header = {};
  header.type = TypeOf(format);
  header.scanned_at_nanos = parts.scanned_at_nanos;
  header.link_context = parts.link_context;
  header.directories = parts.directories.size();
  header.samples = parts.records.size();
  header.names_bytes = parts.names.size();
  bytes.reserve(bytes.size() + sizeof(header) +
                header.directories * sizeof(DirectoryRecord) +
                header.samples * sizeof(FolderFile) + header.names_bytes +
                kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.directories);
  AppendItems(bytes, parts.records);
  bytes += parts.names;
}

std::string EncodeFolderIndex(const FolderIndex& index, std::uint32_t format) {
  std::string bytes;
  AppendFolderIndex(bytes, index, format);
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<FolderIndexParts> TakeFolderIndex(IndexFileReader& file,
                                                 std::uint32_t format,
                                                 base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header,
                           file.TakeHeader<Header>(TypeOf(format)));
  if (header.zero != 0) return DamagedIndexFile("is of another version");
  // If the counts of a damaged file are too large, they are refused before
  // memory is reserved for them.
  const std::uint64_t longest = file.left();
  if (header.directories > longest / sizeof(DirectoryRecord) ||
      header.samples > longest / sizeof(FolderFile) ||
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
  FOREBAY_RETURN_IF_ERROR(
      file.TakeItems(header.directories, &parts.directories));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.samples, &parts.records));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.names_bytes, &parts.names));
  return parts;
}

absl::StatusOr<std::shared_ptr<const FolderIndex>> DecodeFolderIndex(
    IndexFileReader& file, std::uint32_t format, base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(FolderIndexParts parts,
                           TakeFolderIndex(file, format, memory));
  FOREBAY_RETURN_IF_ERROR(file.Finish());
  return FolderIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::folder
