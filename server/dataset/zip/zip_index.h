#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/dataset/folder/folder_index.h"
#include "server/dataset/path_lookup.h"
#include "server/dataset/zip/image_places.h"
#include "server/dataset/zip/zip_member.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::zip {

// An archive of an index. Positions count the bytes of all archives, one behind
// the other.
struct ArchiveRecord {
  std::uint64_t path_offset = 0;  // bytes into the paths
  std::uint64_t path_length = 0;  // bytes
  std::uint64_t begin = 0;        // its position
  std::uint64_t size = 0;         // of its version, as all below
  std::int64_t stamp = 0;
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;
  Version directory = {};  // see ArchiveContents::digest
};
static_assert(sizeof(ArchiveRecord) == 72);

// The stamp of an image in the index of images: what tells it from another of
// its length.
constexpr std::int64_t ImageStamp(std::uint32_t crc32,
                                  std::uint32_t compressed) {
  return static_cast<std::int64_t>(std::uint64_t{compressed} << 32 | crc32);
}

// The parts of an index.
struct ZipIndexParts {
  std::string folder;  // in the archives; images' paths begin below it
  std::vector<ArchiveRecord> archives;
  ImagePlaces places;
  std::string paths;
  // The images, as class folders have them, with the lengths that they have
  // when they are inflated, and the stamps above.
  std::shared_ptr<const folder::FolderIndex> images;
  // Of at least ZipIndex::Bytes.
  base::MemoryReservation reservation = {};
};

// Every sample of class folders in zip archives: an image, its label, and where
// it lies. Takes 24 bytes a sample (28: see ImagePlaces) and 56 a directory,
// besides the names, and 88 an archive. Holds a reservation for them.
// Thread-safe; immutable, but for the archives' ctimes. Never blocks.
class ZipIndex {
 public:
  // The bytes of an image in its archive, from its header on, at least to the
  // end of its data.
  struct Extent {
    std::size_t archive = 0;
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  // DATA_LOSS: the parts do not fit together. They may come from a damaged
  // file.
  static absl::StatusOr<std::shared_ptr<const ZipIndex>> Create(
      ZipIndexParts parts);

  std::uint64_t size() const { return parts_.places.size(); }  // images
  const folder::FolderIndex& images() const { return *parts_.images; }
  // The bytes of the longest extent.
  std::uint64_t longest_extent() const { return longest_extent_; }
  // A digest (XXH3) of the images, where they lie, and the archives with their
  // sizes and times.
  const Version& version() const { return version_; }
  const ZipIndexParts& parts() const { return parts_; }

  // In both, `id` is less than size().
  Extent ExtentOf(std::uint64_t id) const;
  ZipMember MemberOf(std::uint64_t id) const;
  // `archive` is one of the index's.
  storage::ListedObject ArchiveAt(std::size_t archive) const;

  // Whether it is of these archives, in these versions.
  bool IsOf(absl::Span<const storage::ListedObject> archives) const;

  // The revision by which the index knows the archive of that path.
  storage::Revision RevisionOf(std::string_view path) const;
  // A rescan found a directory with that digest in that revision of the
  // archive. If it is the one that was indexed, the index knows the archive by
  // that revision from then on. Else returns false and changes nothing.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const Version& directory) const;

  // Bytes of memory, without the index of images.
  std::uint64_t memory() const;
  // The bytes of an index with so many parts at most, and bytes of text,
  // likewise.
  static std::uint64_t Bytes(std::uint64_t archives, std::uint64_t images,
                             std::uint64_t text);

 private:
  explicit ZipIndex(ZipIndexParts parts);

  absl::Status CheckArchives() const;
  absl::Status CheckPlaces();
  // Those of a directory's images.
  absl::Status CheckPlacesOf(std::uint64_t begin, std::uint64_t end);
  void Summarize();
  std::string_view PathOf(const ArchiveRecord& archive) const;
  // As PathLookup wants them.
  auto paths() const {
    return [this](std::size_t archive) {
      return PathOf(parts_.archives[archive]);
    };
  }
  // Bytes from the header of an image to its data, without extra fields.
  std::uint64_t HeaderOf(std::uint64_t id) const;
  const ArchiveRecord& ArchiveOf(const ImagePlace& place) const;

  ZipIndexParts parts_;
  std::uint64_t longest_extent_ = 0;
  PathLookup by_path_;
  Version version_ = {};
  // By archive: the ctime of the file that was last found to be as indexed.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_H_
