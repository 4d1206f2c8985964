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

// An archive of an index. A position is an offset into the concatenation of all
// archives.
struct ArchiveRecord {
  std::uint64_t path_offset = 0;  // bytes into the paths
  std::uint64_t path_length = 0;  // bytes
  std::uint64_t begin = 0;        // position of the archive's first byte
  // The version in which the archive was indexed (ObjectVersion): `size` is in
  // bytes; `stamp` is the mtime in nanoseconds, or a cloud object's generation.
  std::uint64_t size = 0;
  std::int64_t stamp = 0;
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;
  Version directory = {};  // see ArchiveContents::digest
};
static_assert(sizeof(ArchiveRecord) == 72);

// Returns the number that stands for an image's mtime in the FolderIndex: its
// CRC-32 and its compressed size. If the length and this number are unchanged,
// the image is considered unchanged.
constexpr std::int64_t ImageStamp(std::uint32_t crc32,
                                  std::uint32_t compressed) {
  return static_cast<std::int64_t>(std::uint64_t{compressed} << 32 | crc32);
}

// The parts of an index, as its file stores them.
struct ZipIndexParts {
  std::string folder;  // in the archives; paths of images are relative to it
  std::vector<ArchiveRecord> archives;
  ImagePlaces places;
  std::string paths;  // the archives' paths, concatenated
  // The images in their class folders, with their decompressed lengths. In
  // place of its mtime, each image has the number that ImageStamp returns.
  std::shared_ptr<const folder::FolderIndex> images;
  // A reservation of at least ZipIndex::Bytes.
  base::MemoryReservation reservation = {};
};

// The index of class folders in zip archives: each sample's image, label, and
// place. The index takes 24 bytes for each sample (28 if ImagePlaces takes 8
// bytes for each image), 56 for each directory and 88 for each archive, plus
// the names.
//
// Thread-safe, and immutable except for the archives' ctimes. Holds a
// reservation for its memory. Never blocks. Only Create has errors.
class ZipIndex {
 public:
  // The bytes of an image in its archive: from the start of its header, and at
  // least to the end of its data.
  struct Extent {
    std::size_t archive = 0;   // index of the archive
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  // Makes an index of its parts. Checks them, since they may come from a
  // damaged file. DATA_LOSS: the parts do not fit together.
  static absl::StatusOr<std::shared_ptr<const ZipIndex>> Create(
      ZipIndexParts parts);

  // Returns the number of images.
  std::uint64_t size() const { return parts_.places.size(); }
  // Returns the index of the images in their class folders.
  const folder::FolderIndex& images() const { return *parts_.images; }
  // Returns the length of the longest extent in bytes.
  std::uint64_t longest_extent() const { return longest_extent_; }
  // Returns a digest (XXH3-128) of the images, of their places, and of the
  // archives with their sizes and times.
  const Version& version() const { return version_; }
  const ZipIndexParts& parts() const { return parts_; }

  // Returns the range of bytes to read for an image. Here and in MemberOf, `id`
  // is less than size().
  Extent ExtentOf(std::uint64_t id) const;
  // Returns what the archive's directory says of the image.
  ZipMember MemberOf(std::uint64_t id) const;
  // Returns the name of an archive, and the version in which it is read.
  // `archive` is less than the number of archives.
  storage::ListedObject ArchiveAt(std::size_t archive) const;

  // Whether this is an index of exactly these archives, in these versions.
  bool IsOf(absl::Span<const storage::ListedObject> archives) const;

  // Returns the revision that the index has recorded for the archive with the
  // path `path`.
  storage::Revision RevisionOf(std::string_view path) const;
  // Compares the archive's digest in the index with `directory`, the digest
  // that a revalidation found in `revision` of the archive. If they are equal,
  // the index records the revision and returns true. If they differ, the index
  // changes nothing and returns false.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const Version& directory) const;

  // Returns the memory, in bytes, that this index takes without images().
  std::uint64_t memory() const;
  // Returns an upper bound of memory() for these numbers of items, and `text`
  // bytes of paths.
  static std::uint64_t Bytes(std::uint64_t archives, std::uint64_t images,
                             std::uint64_t text);

 private:
  explicit ZipIndex(ZipIndexParts parts);

  // Checks the archives' paths and positions.
  absl::Status CheckArchives() const;
  // Checks that every image lies in an archive, and finds the longest extent.
  absl::Status CheckPlaces();
  // Checks the places of one directory's images, which are `begin` to `end` -
  // 1.
  absl::Status CheckPlacesOf(std::uint64_t begin, std::uint64_t end);
  // Computes the version.
  void Summarize();
  // Returns the archive's path below the root.
  std::string_view PathOf(const ArchiveRecord& archive) const;
  // Returns a PathLookup::PathOf: a function from an archive's number to its
  // path.
  auto paths() const {
    return [this](std::size_t archive) {
      return PathOf(parts_.archives[archive]);
    };
  }
  // Returns the number of bytes from the start of an image's header to its
  // data, without extra fields.
  std::uint64_t HeaderOf(std::uint64_t id) const;
  // Returns the archive in which the place lies.
  const ArchiveRecord& ArchiveOf(const ImagePlace& place) const;

  ZipIndexParts parts_;
  std::uint64_t longest_extent_ = 0;
  PathLookup by_path_;
  Version version_ = {};
  // For each archive, the ctime of the last revision that was found to have the
  // indexed directory.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_INDEX_H_
