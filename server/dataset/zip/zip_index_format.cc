#include "server/dataset/zip/zip_index_format.h"

#include <utility>

#include "proto/dataset.pb.h"
#include "server/base/status.h"
#include "server/dataset/folder/folder_index_format.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset::zip {
namespace {

constexpr IndexFileType kType = {
    {'F', 'B', 'Y', 'Z', 'I', 'P', 'I', 'X'}, 3, 0};
// The format of the FolderIndex in the file.
constexpr std::uint32_t kFormat = proto::DatasetSpec::ZIP;

// The header of the file, as zip_index_format.h describes it.
struct Header {
  IndexFileType type;
  std::uint64_t archives;
  std::uint64_t groups;
  std::uint64_t near;
  std::uint64_t far;
  std::uint64_t paths_bytes;
  std::uint64_t folder_bytes;
};
static_assert(sizeof(Header) == 64);

}  // namespace

std::string EncodeZipIndex(const ZipIndex& index) {
  const ZipIndexParts& parts = index.parts();
  const ImagePlaces::Parts& places = parts.places.parts();
  Header header = {};
  header.type = kType;
  header.archives = parts.archives.size();
  header.groups = places.groups.size();
  header.near = places.near.size();
  header.far = places.far.size();
  header.paths_bytes = parts.paths.size();
  header.folder_bytes = parts.folder.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + index.memory() + index.images().memory());
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.archives);
  AppendItems(bytes, places.groups);
  AppendItems(bytes, places.far);
  AppendItems(bytes, places.near);
  bytes += parts.paths;
  bytes += parts.folder;
  folder::AppendFolderIndex(bytes, *parts.images, kFormat);
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const ZipIndex>> DecodeZipIndex(
    IndexFileReader& file, base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header, file.TakeHeader<Header>(kType));
  // Counts that are impossible in a file of this length are refused before
  // memory is reserved for so many items.
  const std::uint64_t longest = file.left();
  if (header.archives > longest / sizeof(ArchiveRecord) ||
      header.groups > longest / sizeof(ImagePlaces::Group) ||
      header.near > longest / sizeof(std::uint32_t) ||
      header.far > longest / sizeof(std::uint64_t) ||
      header.paths_bytes > longest || header.folder_bytes > longest) {
    return DamagedIndexFile("has counts that do not match its length");
  }
  ZipIndexParts parts;
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(ZipIndex::Bytes(header.archives, header.near + header.far,
                                  header.paths_bytes + header.folder_bytes)));
  ImagePlaces::Parts places;
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.archives, &parts.archives));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.groups, &places.groups));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.far, &places.far));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.near, &places.near));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.paths_bytes, &parts.paths));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.folder_bytes, &parts.folder));
  FOREBAY_ASSIGN_OR_RETURN(folder::FolderIndexParts images,
                           folder::TakeFolderIndex(file, kFormat, memory));
  FOREBAY_RETURN_IF_ERROR(file.Finish());
  if (!ImagePlaces::FitTogether(places))
    return DamagedIndexFile("has counts that do not match its length");
  parts.places = ImagePlaces(std::move(places));
  FOREBAY_ASSIGN_OR_RETURN(parts.images,
                           folder::FolderIndex::Create(std::move(images)));
  return ZipIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::zip
