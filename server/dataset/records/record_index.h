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
#include "server/dataset/records/packed_keys.h"
#include "server/storage/byte_source.h"
#include "server/storage/inflated/file_points.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::records {

// The lengths that a field's values have, in bytes.
struct LengthBounds {
  std::uint64_t shortest = UINT64_MAX;
  std::uint64_t longest = 0;

  void Add(const LengthBounds& other);
  bool operator==(const LengthBounds&) const = default;
};

// The records of one file.
struct FileRecords {
  std::uint64_t begin = 0;  // of the first one; bytes into the file
  // Records that are gathered of pieces of the file follow its own bytes, as if
  // it were longer: the first at its end, and each behind the one before it, or
  // with it. All others come before them. Their keys tell which pieces.
  std::vector<std::uint64_t> ends;  // of each; bytes into the file
  // Likewise. Empty if they lie one behind the other, the first at `begin`.
  // Successive records may share an extent.
  std::vector<std::uint64_t> begins;
  // Bytes of each once it is unpacked, at most. Empty if they are not packed.
  std::vector<std::uint64_t> unpacked;
  // Of each record. Empty if they have none.
  PackedKeys keys;
  std::uint64_t mark = 0;  // of the file's version; see storage::Revision
  // Of each of the format's fields; empty where the format finds none.
  std::vector<LengthBounds> bounds;
};

// A file of an index; if it is compressed, as if it were not. Its records
// follow those of the file before it.
struct FileRecord {
  std::uint64_t path_offset = 0;  // bytes into the names
  std::uint64_t path_length = 0;  // bytes
  std::uint64_t first_record = 0;
  std::uint64_t begin = 0;  // see FileRecords
  std::uint64_t size = 0;   // of its version, as all below
  std::int64_t stamp = 0;
  std::uint64_t inode = 0;
  std::int64_t ctime_nanos = 0;
  std::uint64_t mark = 0;
};
static_assert(sizeof(FileRecord) == 72);

// The parts of an index.
struct RecordIndexParts {
  // The text of its format, of which RecordFormats are made.
  std::string format;
  std::vector<FileRecord> files;
  std::vector<std::uint64_t> ends;      // of all files' records
  std::vector<std::uint64_t> begins;    // likewise; see FileRecords
  std::vector<std::uint64_t> unpacked;  // likewise
  std::vector<LengthBounds> bounds;     // of all files together
  // Of all files' records, if they have any. Each file begins a block.
  PackedKeys keys;
  std::string names;
  // By which compressed files are read. Null if none is.
  std::shared_ptr<const storage::inflated::FilePoints> points = {};
  // Of at least RecordIndex::Bytes.
  base::MemoryReservation reservation = {};
};

// Every sample of a dataset of files of records: where they lie. A sample takes
// 8 bytes, 8 more if records lie apart and if they are packed, and what is new
// in its key; a file 96 and its path. Holds a reservation for them.
// Thread-safe; immutable, but for the files' ctimes. Never blocks.
class RecordIndex {
 public:
  // The bytes of a record in its file.
  struct Extent {
    std::size_t file = 0;
    std::uint64_t record = 0;  // in that file
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  // DATA_LOSS: the parts do not fit together. They may come from a damaged
  // file.
  static absl::StatusOr<std::shared_ptr<const RecordIndex>> Create(
      RecordIndexParts parts);

  std::uint64_t size() const { return parts_.ends.size(); }  // records
  const std::string& format() const { return parts_.format; }
  const std::vector<LengthBounds>& bounds() const { return parts_.bounds; }
  // Bytes of all records.
  const LengthBounds& lengths() const { return lengths_; }
  std::uint64_t longest() const { return lengths_.longest; }
  bool has_keys() const { return !parts_.keys.blocks.empty(); }
  std::uint64_t longest_key() const { return longest_key_; }  // bytes
  // A digest (XXH3) of the format, the files with their sizes and times, and
  // the records.
  const Version& version() const { return version_; }
  const RecordIndexParts& parts() const { return parts_; }

  // `record` is less than size().
  Extent ExtentOf(std::uint64_t record) const;
  // Bytes of the record at most, once it is unpacked.
  std::uint64_t BytesOf(std::uint64_t record) const;
  // Which of the records it is that share its extent; 0 if none does. The
  // format's files have extents in ascending order.
  std::uint64_t PlaceOf(std::uint64_t record) const;
  // Whether some successive records share one.
  bool shares_extents() const { return shares_extents_; }
  // Whether each begins behind the one before it, or with it.
  bool extents_ascend() const { return extents_ascend_; }
  // Likewise, `record` is less than size(); the index has keys.
  std::string KeyOf(std::uint64_t record) const;
  // `file` is one of the index's.
  storage::ListedObject FileAt(std::size_t file) const;
  // Bytes of the file with all that is gathered of it: see FileRecords.
  std::uint64_t GatheredSize(std::size_t file) const;
  // Whether something is gathered of any.
  bool gathers() const { return gathers_; }
  // The file of that path; nothing if it is not the index's.
  std::optional<std::size_t> FileOf(std::string_view path) const;
  // The first of a file's records that ends behind the byte `offset`, which
  // lies behind the file's own bytes; size() if none does.
  std::uint64_t GatheredAt(std::size_t file, std::uint64_t offset) const;
  // Likewise: the packed keys of its records; empty if there are none.
  std::string_view KeysOf(std::size_t file) const;

  // Whether it is of these files, in these versions.
  bool IsOf(absl::Span<const storage::ListedObject> files) const;

  // The revision by which the index knows the file of that path.
  storage::Revision RevisionOf(std::string_view path) const;
  // A rescan found `records` in that revision of the file. If they are what the
  // index has, it knows the file by that revision from then on. Else returns
  // false and changes nothing.
  bool Accept(std::string_view path, const storage::Revision& revision,
              const FileRecords& records) const;
  // Likewise of a compressed file, of which a rescan found pieces alone.
  bool AcceptPacked(std::string_view path, const storage::Revision& revision,
                    std::uint32_t pieces_crc32c) const;
  // Null if no file is compressed.
  const std::shared_ptr<const storage::inflated::FilePoints>& points() const {
    return parts_.points;
  }

  // Bytes of memory.
  std::uint64_t memory() const;
  // The bytes of an index with so many parts, numbers of records and their
  // keys, and bytes of text.
  static std::uint64_t Bytes(std::uint64_t files, std::uint64_t numbers,
                             std::uint64_t bounds, std::uint64_t text);

 private:
  explicit RecordIndex(RecordIndexParts parts);

  absl::Status Check();
  absl::Status CheckRecords(std::size_t file);
  absl::Status CheckKeys();
  void Summarize();
  std::uint64_t BeginOf(const FileRecord& file, std::uint64_t record) const;
  std::uint64_t EndOf(std::size_t file) const;
  std::string_view PathOf(const FileRecord& file) const;
  // As PathLookup wants them.
  auto paths() const {
    return [this](std::size_t file) { return PathOf(parts_.files[file]); };
  }
  // Null if it is not compressed.
  const storage::inflated::PackedFile* PackedOf(const FileRecord& file) const;
  bool HasRecords(std::size_t file, const FileRecords& records) const;

  RecordIndexParts parts_;
  LengthBounds lengths_;
  std::uint64_t longest_key_ = 0;
  bool shares_extents_ = false;
  bool extents_ascend_ = true;
  bool gathers_ = false;
  std::vector<std::uint64_t> first_blocks_;  // of keys, by file
  PathLookup by_path_;
  Version version_ = {};
  // By file: the ctime of the file that was last found to be as indexed.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
};

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_RECORD_INDEX_H_
