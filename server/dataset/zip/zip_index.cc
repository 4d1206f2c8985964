#include "server/dataset/zip/zip_index.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/index_file.h"
#include "server/dataset/version_digest.h"

// An image's name, label, decompressed length, CRC-32 and compressed length lie
// in a FolderIndex, which has the images of all archives in order. This index
// adds the place of each image. A position also identifies the archive, which
// is found by binary search over the archives' first positions.
//
// An extent covers the header, the name, at most `slack` bytes of extra fields,
// and the data; DataOffset then finds the data in the bytes read.

namespace forebay::dataset::zip {
namespace {

// Returns the CRC-32 in a stamp made by ImageStamp.
std::uint32_t CrcOf(std::int64_t stamp) {
  return static_cast<std::uint32_t>(stamp);
}

// Returns the compressed bytes in a stamp made by ImageStamp.
std::uint64_t CompressedOf(std::int64_t stamp) {
  return static_cast<std::uint64_t>(stamp) >> 32;
}

}  // namespace

ZipIndex::ZipIndex(ZipIndexParts parts)
    : parts_(std::move(parts)), ctimes_(parts_.archives.size()) {
  for (std::size_t i = 0; i < ctimes_.size(); ++i)
    ctimes_[i] = parts_.archives[i].ctime_nanos;
}

absl::StatusOr<std::shared_ptr<const ZipIndex>> ZipIndex::Create(
    ZipIndexParts parts) {
  FOREBAY_CHECK(parts.images != nullptr);
  std::shared_ptr<ZipIndex> index(new ZipIndex(std::move(parts)));
  FOREBAY_RETURN_IF_ERROR(index->CheckArchives());
  FOREBAY_RETURN_IF_ERROR(index->CheckPlaces());
  index->Summarize();
  index->by_path_ = PathLookup(index->parts_.archives.size(), index->paths());
  base::MemoryReservation& held = index->parts_.reservation;
  held.ShrinkTo(std::min(held.bytes(), index->memory()));
  return index;
}

absl::Status ZipIndex::CheckArchives() const {
  const std::uint64_t paths = parts_.paths.size();
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < parts_.archives.size(); ++i) {
    const ArchiveRecord& archive = parts_.archives[i];
    if (archive.path_offset > paths ||
        archive.path_length > paths - archive.path_offset ||
        archive.path_length == 0 ||
        PathOf(archive).find('\0') != std::string::npos) {
      return DamagedIndex("path of archive", i);
    }
    if (archive.begin != begin || archive.size > ImagePlace::kPositions - begin)
      return DamagedIndex("position of archive", i);
    begin += archive.size;
  }
  if (parts_.folder.find('\0') != std::string::npos)
    return DamagedIndex("folder of archive", 0);
  return absl::OkStatus();
}

absl::Status ZipIndex::CheckPlaces() {
  if (size() != images().size() || images().is_flat() ||
      (size() > 0 && parts_.archives.empty())) {
    return DamagedIndex("number of images", size());
  }
  const auto& directories = images().parts().directories;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const std::uint64_t end =
        i + 1 < directories.size() ? directories[i + 1].first_sample : size();
    FOREBAY_RETURN_IF_ERROR(CheckPlacesOf(directories[i].first_sample, end));
  }
  return absl::OkStatus();
}

// The paths of all images of a directory begin with the same folder. Therefore
// the length of the header up to the file's own name is computed once.
absl::Status ZipIndex::CheckPlacesOf(std::uint64_t begin, std::uint64_t end) {
  if (begin == end) return absl::OkStatus();
  const auto& records = images().parts().records;
  const std::uint64_t header = HeaderOf(begin) - records[begin].name_length();
  const ArchiveRecord* archive = &parts_.archives.front();
  for (std::uint64_t id = begin; id < end; ++id) {
    const ImagePlace place = parts_.places.At(id);
    if (place.position >= ImagePlace::kPositions)
      return DamagedIndex("place of image", id);
    // Most images lie in the archive of the image before them.
    if (place.position < archive->begin ||
        place.position - archive->begin >= archive->size) {
      archive = &ArchiveOf(place);
    }
    const std::uint64_t compressed = CompressedOf(records[id].mtime_nanos());
    const std::uint64_t least = header + records[id].name_length() + compressed;
    const std::uint64_t offset = place.position - archive->begin;
    if (offset > archive->size || least > archive->size - offset)
      return DamagedIndex("extent of image", id);
    if (!CanHave(records[id].size(), compressed, place.method))
      return DamagedIndex("length of image", id);
    longest_extent_ = std::max(
        longest_extent_, std::min(least + place.slack, archive->size - offset));
  }
  return absl::OkStatus();
}

// The digests of the archives' directories stand for the contents of their
// members.
void ZipIndex::Summarize() {
  VersionDigest digest("zip");
  digest.Add(std::string_view(parts_.folder)).Add(images().version());
  for (const ArchiveRecord& archive : parts_.archives) {
    digest.Add(PathOf(archive)).Add(archive.size).Add(archive.stamp);
    digest.Add(archive.directory);
  }
  const ImagePlaces::Parts& places = parts_.places.parts();
  digest.AddItems(places.groups.data(), places.groups.size());
  digest.AddItems(places.near.data(), places.near.size());
  digest.AddItems(places.far.data(), places.far.size());
  version_ = digest.Get();
}

std::string_view ZipIndex::PathOf(const ArchiveRecord& archive) const {
  return std::string_view(parts_.paths)
      .substr(archive.path_offset, archive.path_length);
}

std::uint64_t ZipIndex::HeaderOf(std::uint64_t id) const {
  const std::uint64_t folder =
      parts_.folder.empty() ? 0 : parts_.folder.size() + 1;
  return kHeaderBytes + folder + images().PathLengthOf(id);
}

const ArchiveRecord& ZipIndex::ArchiveOf(const ImagePlace& place) const {
  // An empty archive begins where the next archive begins. Therefore the place
  // is in the last archive that begins at or before the position.
  const auto after = std::upper_bound(
      parts_.archives.begin(), parts_.archives.end(), place.position,
      [](std::uint64_t wanted, const ArchiveRecord& archive) {
        return wanted < archive.begin;
      });
  return *std::prev(after);
}

ZipIndex::Extent ZipIndex::ExtentOf(std::uint64_t id) const {
  FOREBAY_CHECK(id < size());
  const ImagePlace place = parts_.places.At(id);
  const ArchiveRecord& archive = ArchiveOf(place);
  const std::uint64_t offset = place.position - archive.begin;
  const std::uint64_t most =
      HeaderOf(id) + place.slack + CompressedOf(images().StampOf(id));
  return {
      .archive = static_cast<std::size_t>(&archive - parts_.archives.data()),
      .offset = offset,
      .length = std::min(most, archive.size - offset)};
}

ZipMember ZipIndex::MemberOf(std::uint64_t id) const {
  Sample image = images().At(id);
  const std::int64_t stamp = image.version.stamp;
  return {.name = parts_.folder.empty()
                      ? std::move(image.object)
                      : absl::StrCat(parts_.folder, "/", image.object),
          .header_offset = ExtentOf(id).offset,
          .compressed = CompressedOf(stamp),
          .length = image.length,
          .crc32 = CrcOf(stamp),
          .method = parts_.places.At(id).method};
}

storage::ListedObject ZipIndex::ArchiveAt(std::size_t archive) const {
  FOREBAY_CHECK(archive < parts_.archives.size());
  const ArchiveRecord& record = parts_.archives[archive];
  return {std::string(PathOf(record)),
          {record.size, record.stamp, {record.inode, ctimes_[archive]}}};
}

bool ZipIndex::IsOf(absl::Span<const storage::ListedObject> archives) const {
  if (archives.size() != parts_.archives.size()) return false;
  for (std::size_t i = 0; i < archives.size(); ++i) {
    const ArchiveRecord& known = parts_.archives[i];
    const storage::ObjectVersion version = {
        known.size, known.stamp, {known.inode, ctimes_[i]}};
    if (archives[i].version != version || archives[i].name != PathOf(known))
      return false;
  }
  return true;
}

storage::Revision ZipIndex::RevisionOf(std::string_view path) const {
  for (const std::size_t i : by_path_.Find(path, paths()))
    return {parts_.archives[i].inode, ctimes_[i]};
  return {};
}

bool ZipIndex::Accept(std::string_view path, const storage::Revision& revision,
                      const Version& directory) const {
  const std::vector<std::size_t> archives = by_path_.Find(path, paths());
  for (const std::size_t i : archives) {
    const ArchiveRecord& known = parts_.archives[i];
    if (revision.inode != known.inode || directory != known.directory)
      return false;
  }
  for (const std::size_t i : archives) ctimes_[i] = revision.ctime_nanos;
  return true;
}

std::uint64_t ZipIndex::memory() const {
  return sizeof(ZipIndex) + parts_.folder.capacity() + parts_.paths.capacity() +
         parts_.archives.capacity() *
             (sizeof(ArchiveRecord) + sizeof(ctimes_.front()) +
              PathLookup::Bytes(1)) +
         parts_.places.memory();
}

std::uint64_t ZipIndex::Bytes(std::uint64_t archives, std::uint64_t images,
                              std::uint64_t text) {
  return sizeof(ZipIndex) +
         archives * (sizeof(ArchiveRecord) + sizeof(std::atomic<std::int64_t>) +
                     PathLookup::Bytes(1)) +
         ImagePlaces::Bytes(images) + text;
}

}  // namespace forebay::dataset::zip
