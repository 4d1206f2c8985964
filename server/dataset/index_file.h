#ifndef FOREBAY_SERVER_DATASET_INDEX_FILE_H_
#define FOREBAY_SERVER_DATASET_INDEX_FILE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/new_memory.h"
#include "server/dataset/own_file.h"
#include "server/dataset/version_digest.h"

// The common parts of all index files: a header, arrays of trivially copyable
// items, and a checksum of all bytes before the checksum (XXH3-128 in its
// canonical form). Numbers are little-endian. There is no padding between the
// parts. The functions are thread-safe and never block; IndexFileReader states
// its own contract.
//
// The checksum finds accidental damage only. A user who can write the file can
// write any index, so decoders check every offset against its bounds.

namespace forebay::dataset {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::size_t kIndexFileChecksumBytes = 16;

// The start of each index file's header.
struct IndexFileType {
  char magic[8];                 // names the kind of index
  std::uint32_t version;         // other versions are not read
  std::uint32_t dataset_format;  // 0 if only one format has the magic
};
static_assert(sizeof(IndexFileType) == 16);

// Returns the error of a damaged index file (DATA_LOSS); `reason` continues the
// phrase "the index file".
absl::Status DamagedIndexFile(std::string_view reason);
// Returns the error of an index with an item out of range (DATA_LOSS): `what`
// names the kind of item, `number` the item.
absl::Status DamagedIndex(std::string_view what, std::uint64_t number);

// Appends the checksum of `bytes`.
void SealIndexFile(std::string& bytes);

// Appends the bytes of `items` as they lie in memory.
template <typename Item>
void AppendItems(std::string& bytes, const std::vector<Item>& items) {
  static_assert(std::is_trivially_copyable_v<Item>);
  bytes.append(reinterpret_cast<const char*>(items.data()),
               items.size() * sizeof(Item));
}

// Reads an index file from its start to its checksum, piece by piece, so that
// its bytes are in memory only once. Callers must not trust what they have read
// until Finish() has succeeded.
//
// Not thread-safe. Owns the open file, but not bytes passed to the constructor.
// Blocks for the disk. DATA_LOSS: the file is damaged. Others: errors of the
// disk.
class IndexFileReader {
 public:
  // Reads from `bytes`, which outlive the reader.
  explicit IndexFileReader(absl::Span<const std::uint8_t> bytes)
      : IndexFileReader(OwnFile{{}, bytes.size()}, bytes.data()) {}
  // Opens a file. Errors name the file. DATA_LOSS: the file is implausibly
  // large. Others: those of OpenOwnFile.
  static absl::StatusOr<IndexFileReader> Open(const std::string& path);

  // Returns how many bytes before the checksum were not taken yet.
  std::uint64_t left() const { return left_; }

  // Takes a header, which begins with an IndexFileType. DATA_LOSS also means
  // that the file is too short or of another type.
  template <typename Header>
  absl::StatusOr<Header> TakeHeader(const IndexFileType& type) {
    Header header;
    static_assert(std::is_trivially_copyable_v<Header>);
    const absl::Status taken = TakeTyped(
        type, {reinterpret_cast<std::uint8_t*>(&header), sizeof(header)});
    if (!taken.ok()) return taken;
    return header;
  }

  // Takes `count` items. DATA_LOSS also means that the file has fewer items.
  template <typename Items>
  absl::Status TakeItems(std::uint64_t count, Items* items);

  // Compares the checksum. DATA_LOSS also means that some bytes before the
  // checksum were not taken.
  absl::Status Finish();

 private:
  // Bytes of a piece. A piece this small is still in the CPU's cache when it is
  // digested.
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{256} << 10;

  IndexFileReader(OwnFile file, const std::uint8_t* bytes)
      : file_(std::move(file)),
        bytes_(bytes),
        left_(file_.size -
              std::min<std::uint64_t>(file_.size, kIndexFileChecksumBytes)) {}

  // Takes a header into `header` and compares its start with `type`.
  absl::Status TakeTyped(const IndexFileType& type,
                         absl::Span<std::uint8_t> header);
  // Fills `bytes` from the file and adds them to the digest.
  absl::Status Take(absl::Span<std::uint8_t> bytes);
  // Fills `bytes` from the file without counting or digesting them.
  absl::Status Read(absl::Span<std::uint8_t> bytes);

  OwnFile file_;
  const std::uint8_t* bytes_ = nullptr;  // null if `file_` is read
  std::uint64_t read_ = 0;               // bytes read so far
  std::uint64_t left_ = 0;               // see left()
  VersionDigest digest_;                 // digest of the bytes taken so far
};

template <typename Items>
absl::Status IndexFileReader::TakeItems(std::uint64_t count, Items* items) {
  using Item = typename Items::value_type;
  static_assert(std::is_trivially_copyable_v<Item>);
  if (count > left_ / sizeof(Item))
    return DamagedIndexFile("has counts that do not match its length");
  items->reserve(count);
  base::PutPagesUnder(items->data(), count * sizeof(Item));
  while (items->size() < count) {
    const std::size_t before = items->size();
    items->resize(before + std::min<std::uint64_t>(count - before,
                                                   kPieceBytes / sizeof(Item)));
    absl::Status taken =
        Take({reinterpret_cast<std::uint8_t*>(items->data() + before),
              (items->size() - before) * sizeof(Item)});
    if (!taken.ok()) return taken;
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_FILE_H_
