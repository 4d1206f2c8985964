#include "server/dataset/zip/zip_index_format.h"

#include <utility>

#include "server/base/status.h"
#include "server/dataset/folder/folder_index_format.h"
#include "server/dataset/index_file.h"

namespace forebay::dataset::zip {
namespace {

constexpr IndexFileType kType = {
    {'F', 'B', 'Y', 'Z', 'I', 'P', 'I', 'X'}, 2, 0};
// proto::DatasetSpec::ZIP: an index of images is of archives here.
constexpr std::uint32_t kFormat = 11;

struct Header {
  IndexFileType type;
  std::uint64_t archives;
  std::uint64_t groups;
  std::uint64_t near;
  std::uint64_t far;
  std::uint64_t paths_bytes;
  std::uint64_t folder_bytes;
  std::uint64_t images_bytes;
};
static_assert(sizeof(Header) == 72);

}  // namespace

std::string EncodeZipIndex(const ZipIndex& index) {
  const ZipIndexParts& parts = index.parts();
  const ImagePlaces::Parts& places = parts.places.parts();
  const std::string images = folder::EncodeFolderIndex(*parts.images, kFormat);
  Header header = {};
  header.type = kType;
  header.archives = parts.archives.size();
  header.groups = places.groups.size();
  header.near = places.near.size();
  header.far = places.far.size();
  header.paths_bytes = parts.paths.size();
  header.folder_bytes = parts.folder.size();
  header.images_bytes = images.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + header.archives * sizeof(ArchiveRecord) +
                ImagePlaces::Bytes(parts.places.size()) + header.paths_bytes +
                header.folder_bytes + images.size() + kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendItems(bytes, parts.archives);
  AppendItems(bytes, places.groups);
  AppendItems(bytes, places.far);
  AppendItems(bytes, places.near);
  bytes += parts.paths;
  bytes += parts.folder;
  bytes += images;
  SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const ZipIndex>> DecodeZipIndex(
    absl::Span<const std::uint8_t> bytes, base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header,
                           TakeIndexFileHeader<Header>(kType, bytes));
  ZipIndexParts parts;
  ImagePlaces::Parts places;
  if (header.images_bytes > bytes.size())
    return DamagedIndexFile("has counts that do not match its length");
  const auto images = bytes.last(header.images_bytes);
  bytes.remove_suffix(images.size());
  // The parts are no longer in memory than in the file, but for the ctimes.
  const std::uint64_t ctimes =
      bytes.size() / sizeof(ArchiveRecord) * sizeof(std::int64_t);
  FOREBAY_ASSIGN_OR_RETURN(
      parts.reservation,
      memory.Keep(ZipIndex::Bytes(0, 0, bytes.size() + ctimes)));
  if (!TakeItems(bytes, header.archives, &parts.archives) ||
      !TakeItems(bytes, header.groups, &places.groups) ||
      !TakeItems(bytes, header.far, &places.far) ||
      !TakeItems(bytes, header.near, &places.near) ||
      !TakeItems(bytes, header.paths_bytes, &parts.paths) ||
      !TakeItems(bytes, header.folder_bytes, &parts.folder) || !bytes.empty() ||
      !ImagePlaces::FitTogether(places)) {
    return DamagedIndexFile("has counts that do not match its length");
  }
  parts.places = ImagePlaces(std::move(places));
  FOREBAY_ASSIGN_OR_RETURN(parts.images,
                           folder::DecodeFolderIndex(images, kFormat, memory));
  return ZipIndex::Create(std::move(parts));
}

}  // namespace forebay::dataset::zip
