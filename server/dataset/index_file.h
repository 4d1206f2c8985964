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

// The common parts of all index files: a header, arrays of plain items
// and a checksum of all before it, XXH3-128 in its canonical form. Everything
// is little-endian, with nothing in between. Thread-safe and never blocks, but
// for the reader.
//
// The checksum finds accidents. A user who can write the file can write any
// index, but not one that makes a reader go out of bounds.

namespace forebay::dataset {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::size_t kIndexFileChecksumBytes = 16;

// The start of each header.
struct IndexFileType {
  char magic[8];
  std::uint32_t version;
  std::uint32_t dataset_format;  // 0 where all files are of one
};
static_assert(sizeof(IndexFileType) == 16);

// DATA_LOSS: the file is damaged, or a part of the index in it.
absl::Status DamagedIndexFile(std::string_view reason);
absl::Status DamagedIndex(std::string_view what, std::uint64_t number);

// Appends the checksum.
void SealIndexFile(std::string& bytes);

template <typename Item>
void AppendItems(std::string& bytes, const std::vector<Item>& items) {
  static_assert(std::is_trivially_copyable_v<Item>);
  bytes.append(reinterpret_cast<const char*>(items.data()),
               items.size() * sizeof(Item));
}

// Reads an index file from its front to its checksum, piece by piece, so that
// its bytes are in memory once. What it gave is not to be trusted before
// Finish() has succeeded.
//
// Not thread-safe. Owns the file, but no bytes that are in memory. Blocks for
// the disk. Errors: DATA_LOSS: the file is damaged. Others: the disk's.
class IndexFileReader {
 public:
  // Reads bytes in memory, which outlive it.
  explicit IndexFileReader(absl::Span<const std::uint8_t> bytes)
      : IndexFileReader(OwnFile{{}, bytes.size()}, bytes.data()) {}
  // Opens a file. Errors, which name it: those of OpenOwnFile; DATA_LOSS: it is
  // implausibly large.
  static absl::StatusOr<IndexFileReader> Open(const std::string& path);

  // Bytes before the checksum that are yet to be taken.
  std::uint64_t left() const { return left_; }

  // Takes a header, which begins with an IndexFileType. DATA_LOSS, too: the
  // file is too short or of another type.
  template <typename Header>
  absl::StatusOr<Header> TakeHeader(const IndexFileType& type) {
    Header header;
    static_assert(std::is_trivially_copyable_v<Header>);
    const absl::Status taken = TakeTyped(
        type, {reinterpret_cast<std::uint8_t*>(&header), sizeof(header)});
    if (!taken.ok()) return taken;
    return header;
  }

  // Takes `count` items. DATA_LOSS, too: the file has fewer.
  template <typename Items>
  absl::Status TakeItems(std::uint64_t count, Items* items);

  // Compares the checksum. DATA_LOSS, too: there is something before it.
  absl::Status Finish();

 private:
  // So much of a file stays in the CPU's cache until it has its place.
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{256} << 10;

  IndexFileReader(OwnFile file, const std::uint8_t* bytes)
      : file_(std::move(file)),
        bytes_(bytes),
        left_(file_.size -
              std::min<std::uint64_t>(file_.size, kIndexFileChecksumBytes)) {}

  absl::Status TakeTyped(const IndexFileType& type,
                         absl::Span<std::uint8_t> header);
  absl::Status Take(absl::Span<std::uint8_t> bytes);
  absl::Status Read(absl::Span<std::uint8_t> bytes);

  OwnFile file_;
  const std::uint8_t* bytes_ = nullptr;  // null: they are in the file
  std::uint64_t read_ = 0;               // bytes
  std::uint64_t left_ = 0;
  VersionDigest digest_;  // of what was taken
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
