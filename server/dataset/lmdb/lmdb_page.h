#ifndef FOREBAY_SERVER_DATASET_LMDB_LMDB_PAGE_H_
#define FOREBAY_SERVER_DATASET_LMDB_LMDB_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// The pages of an LMDB file (data.mdb) as 64-bit little-endian hosts write
// them, format version 1. The first two are meta pages, written by turns: each
// holds the root of the database that one transaction left. All others are
// branches and leaves of trees, or values too long for a leaf.
//
// LMDB has no checksums. The functions refuse what liblmdb never writes. Their
// errors give the reason alone. Thread-safe; never block.

namespace forebay::dataset::lmdb {

inline constexpr std::uint64_t kLmdbMetaBytes = 152;  // at a meta page's start
inline constexpr std::uint64_t kLmdbPageHeader = 16;  // bytes
inline constexpr std::uint64_t kLmdbFirstPage = 2;    // behind the meta pages
inline constexpr std::uint16_t kLmdbDeepest = 32;  // levels that liblmdb reads

// A database, as its record says.
struct LmdbTree {
  std::uint64_t root = 0;     // page, unless depth is 0
  std::uint64_t entries = 0;  // in all of its leaves
  std::uint16_t depth = 0;    // levels, leaves included; 0 if it is empty
  std::uint16_t flags = 0;
};

// Reads the record of a named database. DATA_LOSS: its length is wrong.
absl::StatusOr<LmdbTree> ParseLmdbTree(absl::Span<const std::uint8_t> record);

// DATA_LOSS: the record contradicts itself. UNIMPLEMENTED: keys may have
// several values.
absl::Status CheckLmdbTree(const LmdbTree& tree);

struct LmdbMeta {
  std::uint64_t page_bytes = 0;
  std::uint64_t last_page = 0;    // in use
  std::uint64_t transaction = 0;  // that wrote it
  LmdbTree tree;                  // of the unnamed database; not checked
};

// Reads a meta page's first kLmdbMetaBytes; `number` is 0 or 1. DATA_LOSS: it
// is none. UNIMPLEMENTED: its format is of another version or kind of host.
absl::StatusOr<LmdbMeta> ParseLmdbMeta(absl::Span<const std::uint8_t> bytes,
                                       std::uint64_t number);

// Returns that of the last transaction. DATA_LOSS: the two contradict each
// other.
absl::StatusOr<LmdbMeta> NewestLmdbMeta(const LmdbMeta& first,
                                        const LmdbMeta& second);

// Returns the last transaction of a file, by the first kLmdbMetaBytes of both
// meta pages. Errors are those of the two functions above.
absl::StatusOr<std::uint64_t> NewestLmdbTransaction(
    absl::Span<const std::uint8_t> first,
    absl::Span<const std::uint8_t> second);

// Returns the pages below a branch, in order. DATA_LOSS: `page`, all bytes of
// page `number`, is no branch. The numbers may be those of any pages, or none.
absl::StatusOr<std::vector<std::uint64_t>> ParseLmdbBranch(
    absl::Span<const std::uint8_t> page, std::uint64_t number);

enum class LmdbNodeKind {
  kValue,
  kLongValue,  // lies in pages of its own
  kDatabase,   // the record of a named database
};

struct LmdbNode {
  LmdbNodeKind kind = LmdbNodeKind::kValue;
  std::string_view key;  // in the page
  // Bytes of the value or record.
  std::uint64_t length = 0;
  // Of a long value: its first page, which may be any number. Else 0.
  std::uint64_t page = 0;
  // Else: where it lies in the leaf. All of it does.
  std::size_t offset = 0;
};

// Returns the nodes of a leaf, in order. DATA_LOSS: `page`, all bytes of page
// `number`, is no leaf of a database in which keys have one value each.
absl::StatusOr<std::vector<LmdbNode>> ParseLmdbLeaf(
    absl::Span<const std::uint8_t> page, std::uint64_t number);

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_LMDB_PAGE_H_
