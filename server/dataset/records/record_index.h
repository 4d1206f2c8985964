#ifndef FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_H_
#define FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/memory_budget.h"
#include "server/dataset/dataset.h"
#include "server/dataset/path_lookup.h"
#include "server/dataset/records/compressed_keys.h"
#include "server/storage/byte_source.h"
#include "server/storage/compressed/file_points.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// The shortest and the longest length of a field's values, in bytes. The
// defaults are the bounds of an empty set of values.
struct LengthBounds {
  std::uint64_t shortest = UINT64_MAX;
  std::uint64_t longest = 0;

  // Extends the bounds so that they include those of `other`.
  void Add(const LengthBounds& other);
  bool operator==(const LengthBounds&) const = default;
};

// The records of one file.
struct FileRecords {
  // Where the first record begins, in bytes into the file.
  std::uint64_t begin = 0;
  // The end of each record, in bytes into the file. A record may be gathered
  // from pieces of the file. It then has a virtual extent behind the file's own
  // bytes, as if the file were longer. The first virtual extent begins at the
  // file's end. Each later one begins where the extent before it ends, or is
  // the same extent. Gathered records come after all others. Their keys tell
  // the pieces.
  std::vector<std::uint64_t> ends;
  // Where each record begins, in bytes into the file. Empty if each record
  // begins where the record before it ends. Consecutive records may share an
  // extent.
  std::vector<std::uint64_t> begins;
  // An upper bound of each record's bytes after decompression. Empty if records
  // are not compressed.
  std::vector<std::uint64_t> decompressed;
  // The key of each record. Empty if records have no keys.
  CompressedKeys keys;
  // The transaction id of the file's version (see storage::Revision).
  std::uint64_t transaction_id = 0;
  // The bounds of each field's values; empty if the format does not measure
  // values.
  std::vector<LengthBounds> bounds;
};

// A file in the index. If the file is compressed as a whole, offsets and `size`
// are those of the decompressed file. Records are numbered across files: the
// first record of a file follows the last record of the file before it.
struct FileRecord {
  std::uint64_t path_offset = 0;  // bytes into the names
  std::uint64_t path_length = 0;  // bytes
  std::uint64_t first_record = 0;
  std::uint64_t begin = 0;  // see FileRecords
  // The version in which the file was indexed (ObjectVersion): `size` in bytes;
  // `stamp` the mtime in nanoseconds, or a cloud object's generation.
  std::uint64_t size = 0;
  std::int64_t stamp = 0;
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;
  std::uint64_t transaction_id = 0;
};
static_assert(sizeof(FileRecord) == 72);

// The parts of an index, as its file stores them.
struct RecordIndexParts {
  // The text of the RecordFormat with which the index was built.
  std::string format;
  std::vector<FileRecord> files;
  // The vectors of the FileRecords of all files, concatenated.
  std::vector<std::uint64_t> ends;
  std::vector<std::uint64_t> begins;
  std::vector<std::uint64_t> decompressed;
  std::vector<LengthBounds> bounds;  // over all files
  // The keys of all files' records, if records have keys. Each file's keys
  // begin a new block.
  CompressedKeys keys;
  std::string names;  // the files' paths, concatenated
  // The access points by which compressed files are read. Null if no file is
  // compressed.
  std::shared_ptr<const storage::compressed::FilePoints> points = {};
  // A reservation of at least RecordIndex::Bytes() bytes.
  base::MemoryReservation reservation = {};
};

// The index of a dataset of records: where each record lies in its file. A
// record takes 8 bytes, 8 more if records are not contiguous, 8 more if they
// are compressed, and the part of its key that the key before it does not have.
// A file takes 96 bytes and its path.
//
// Thread-safe. Immutable, except for the files' ctimes. Holds a reservation for
// its memory. Never blocks. Only Create has errors.
class RecordIndex {
 public:
  // The bytes of a record in its file.
  struct Extent {
    std::size_t file = 0;      // index of the file
    std::uint64_t record = 0;  // the record's number in the file
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  // Makes an index from its parts. Checks the parts, since they may come from a
  // damaged file. DATA_LOSS: the parts do not fit together.
  static absl::StatusOr<std::shared_ptr<const RecordIndex>> Create(
      RecordIndexParts parts);

  // Returns the number of records.
  std::uint64_t size() const { return parts_.ends.size(); }
  // Returns the text of the index's RecordFormat.
  const std::string& format() const { return parts_.format; }
  // Returns the bounds of each field's values in all files.
  const std::vector<LengthBounds>& bounds() const { return parts_.bounds; }
  // Returns the bounds of the lengths of the records' extents.
  const LengthBounds& lengths() const { return lengths_; }
  // Returns the length of the longest extent in bytes.
  std::uint64_t longest() const { return lengths_.longest; }
  // Whether records have keys.
  bool has_keys() const { return !parts_.keys.blocks.empty(); }
  // Returns the length of the longest key in bytes.
  std::uint64_t longest_key() const { return longest_key_; }
  // Returns a digest (XXH3-128) of the format, of the files with their sizes
  // and times, and of the records.
  const Version& version() const { return version_; }
  const RecordIndexParts& parts() const { return parts_; }

  // Returns where a record lies. `record` is less than size().
  Extent ExtentOf(std::uint64_t record) const;
  // Returns an upper bound of the record's decompressed bytes.
  std::uint64_t BytesOf(std::uint64_t record) const;
  // Returns the number of records before `record` that have the same extent.
  // extents_ascend() must be true.
  std::uint64_t PlaceOf(std::uint64_t record) const;
  // Whether any consecutive records share an extent.
  bool shares_extents() const { return shares_extents_; }
  // Whether the records of each file begin in ascending order; several records
  // may begin at the same byte.
  bool extents_ascend() const { return extents_ascend_; }
  // Returns a record's key. has_keys() must be true, and `record` less than
  // size().
  std::string KeyOf(std::uint64_t record) const;
  // Returns the name of a file, and the version in which it is read. `file` is
  // less than the number of files.
  storage::ListedObject FileAt(std::size_t file) const;
  // Returns the size of the file in bytes, including the virtual extents of
  // gathered records (see FileRecords).
  std::uint64_t GatheredSize(std::size_t file) const;
  // Whether any record is gathered.
  bool gathers() const { return gathers_; }
  // Returns the number of the file with the path `path`. Returns nothing if
  // there is no such file.
  std::optional<std::size_t> FileOf(std::string_view path) const;
  // Returns the file's first gathered record that ends behind `offset`, a byte
  // in the file's virtual extents. Returns size() if there is no such record.
  std::uint64_t GatheredAt(std::size_t file, std::uint64_t offset) const;
  // Returns the compressed keys of a file's records. Empty if the file has no
  // records, or records have no keys.
  std::string_view KeysOf(std::size_t file) const;

  // Whether this is an index of exactly these files, in these versions.
  bool IsOf(absl::Span<const storage::ListedObject> files) const;

  // Returns the revision that the index has recorded for the file with the path
  // `path`.
  storage::Revision RevisionOf(std::string_view path) const;
  // Compares the file's records in the index with `records`, which a
  // revalidation found in `revision` of the file. If they are equal, the index
  // records the revision and returns true. Otherwise it changes nothing and
  // returns false.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const FileRecords& records) const;
  // Does the same as Accept for a compressed file, but compares the checksum of
  // some of its pieces (compressed/piece_digest.h).
  bool AcceptCompressed(std::string_view path,
                        const storage::Revision& revision,
                        std::uint32_t pieces_crc32c) const;
  // Returns the access points of compressed files. Null if no file is
  // compressed.
  const std::shared_ptr<const storage::compressed::FilePoints>& points() const {
    return parts_.points;
  }

  // Returns the memory that the index takes, in bytes.
  std::uint64_t memory() const;
  // Returns an upper bound of memory() for an index with these numbers of
  // items. `numbers` is the number of 64-bit numbers in the vectors of records
  // and of blocks of keys. `text` is the number of bytes of all texts.
  static std::uint64_t Bytes(std::uint64_t files, std::uint64_t numbers,
                             std::uint64_t bounds, std::uint64_t text);

 private:
  explicit RecordIndex(RecordIndexParts parts);

  // Checks the files and their records.
  absl::Status Check();
  // Checks a file's records, and adds their lengths to lengths_.
  absl::Status CheckRecords(std::size_t file);
  // Checks the keys, and finds each file's first block.
  absl::Status CheckKeys();
  // Computes the version.
  void Summarize();
  // Returns where a record begins, in bytes into its file.
  std::uint64_t BeginOf(const FileRecord& file, std::uint64_t record) const;
  // Returns the number of the file's last record, plus 1.
  std::uint64_t EndOf(std::size_t file) const;
  // Returns the file's path below the root.
  std::string_view PathOf(const FileRecord& file) const;
  // Returns a PathLookup::PathOf: a function from a file's number to its path.
  auto paths() const {
    return [this](std::size_t file) { return PathOf(parts_.files[file]); };
  }
  // Returns the file's access points. Null if the file is not compressed.
  const storage::compressed::CompressedFile* CompressedOf(
      const FileRecord& file) const;
  // Whether the index has exactly the records `records` for the file.
  bool HasRecords(std::size_t file, const FileRecords& records) const;

  RecordIndexParts parts_;
  LengthBounds lengths_;
  std::uint64_t longest_key_ = 0;
  bool shares_extents_ = false;
  bool extents_ascend_ = true;
  bool gathers_ = false;
  std::vector<std::uint64_t> first_blocks_;  // the first block of each file's
                                             // keys
  PathLookup by_path_;
  Version version_ = {};
  // For each file, the ctime of the last revision that was found to have the
  // indexed records.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_H_
