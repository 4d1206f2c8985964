#ifndef FOREBAY_SERVER_DATASET_LMDB_LMDB_PAGE_H_
#define FOREBAY_SERVER_DATASET_LMDB_LMDB_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

// The pages of an LMDB file (data.mdb), as liblmdb's mdb.c lays them out on
// 64-bit little-endian hosts in format version 1. The structures' names there
// are MDB_page, MDB_meta, MDB_db and MDB_node.
//
// Pages 0 and 1 are meta pages, which transactions write alternately. Each meta
// page holds the root of the database as one transaction left it. Every other
// page is a branch or a leaf of a tree, or belongs to a value that is too long
// for a leaf.
//
// LMDB has no checksums. These functions refuse whatever liblmdb never writes.
// They are thread-safe, own nothing and never block. Their errors give the
// reason alone, without the file's name.

namespace forebay::dataset::lmdb {

// Bytes of a meta page that are in use: the page header and MDB_meta.
inline constexpr std::uint64_t kLmdbMetaBytes = 152;
// Bytes of the header that every page begins with.
inline constexpr std::uint64_t kLmdbPageHeader = 16;
// Number of the first page after the two meta pages.
inline constexpr std::uint64_t kLmdbFirstPage = 2;
// The most levels of a tree that liblmdb's cursors can descend (CURSOR_STACK).
inline constexpr std::uint16_t kLmdbDeepest = 32;

// A database, as its record in the file (MDB_db) describes it.
struct LmdbTree {
  std::uint64_t root = 0;     // number of the root page, if depth > 0
  std::uint64_t entries = 0;  // number of entries in all leaves
  std::uint16_t depth = 0;    // levels, the leaves included; 0: no entries
  std::uint16_t flags = 0;    // MDB_DUPSORT and other flags of mdb_dbi_open
};

// Reads a database's record. Fails with DATA_LOSS if the record has another
// length than MDB_db. The caller must still check the returned tree by
// CheckLmdbTree.
absl::StatusOr<LmdbTree> ParseLmdbTree(absl::Span<const std::uint8_t> record);

// Checks that a tree can be walked. Fails with DATA_LOSS if its record
// contradicts itself, and with UNIMPLEMENTED if its keys may have several
// values.
absl::Status CheckLmdbTree(const LmdbTree& tree);

// The contents of a meta page (MDB_meta).
struct LmdbMeta {
  std::uint64_t page_bytes = 0;   // bytes of each page of the file
  std::uint64_t last_page = 0;    // number of the last page in use
  std::uint64_t transaction = 0;  // id of the transaction that wrote this page
  // The unnamed database. CheckLmdbTree has not checked it yet.
  LmdbTree tree;
};

// Reads the first kLmdbMetaBytes of meta page `number`, which is 0 or 1. Fails
// with DATA_LOSS if the bytes are not a meta page. Fails with UNIMPLEMENTED if
// the file has another format version or comes from another kind of host.
absl::StatusOr<LmdbMeta> ParseLmdbMeta(absl::Span<const std::uint8_t> bytes,
                                       std::uint64_t number);

// Returns the meta page of the later transaction. Fails with DATA_LOSS if the
// two pages contradict each other.
absl::StatusOr<LmdbMeta> NewestLmdbMeta(const LmdbMeta& first,
                                        const LmdbMeta& second);

// Returns the id of a file's last transaction, from the first kLmdbMetaBytes of
// both meta pages. Errors are those of the two functions above.
absl::StatusOr<std::uint64_t> NewestLmdbTransaction(
    absl::Span<const std::uint8_t> first,
    absl::Span<const std::uint8_t> second);

// Returns the numbers of the pages below a branch page, in key order. `page`
// holds all bytes of page `number`. Fails with DATA_LOSS if it is not a branch
// page. The returned numbers are unchecked and may lie outside the file.
absl::StatusOr<std::vector<std::uint64_t>> ParseLmdbBranch(
    absl::Span<const std::uint8_t> page, std::uint64_t number);

// The kinds of nodes that a leaf may have.
enum class LmdbNodeKind {
  kValue,      // The leaf holds the value.
  kLongValue,  // Overflow pages of its own hold the value (F_BIGDATA).
  kDatabase,   // The leaf holds the record of a named database (F_SUBDATA).
};

// A node of a leaf page (MDB_node): a key and its value.
struct LmdbNode {
  LmdbNodeKind kind = LmdbNodeKind::kValue;
  std::string_view key;      // points into the page
  std::uint64_t length = 0;  // bytes of the value or the record
  // Number of a long value's first page, unchecked. 0 for the other kinds.
  std::uint64_t page = 0;
  // Offset of the value in the leaf, in bytes; 0 for a long value. All bytes of
  // a value that begins in the leaf lie within the leaf.
  std::size_t offset = 0;
};

// Returns the nodes of a leaf page, in key order. `page` holds all bytes of
// page `number`. Fails with DATA_LOSS if it is not a leaf page of a database in
// which each key has one value.
absl::StatusOr<std::vector<LmdbNode>> ParseLmdbLeaf(
    absl::Span<const std::uint8_t> page, std::uint64_t number);

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_LMDB_PAGE_H_
