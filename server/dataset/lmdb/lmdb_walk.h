#ifndef FOREBAY_SERVER_DATASET_LMDB_LMDB_WALK_H_
#define FOREBAY_SERVER_DATASET_LMDB_LMDB_WALK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/lmdb/lmdb_page.h"

namespace forebay::dataset::lmdb {

// A key of a database, and where the file holds its value.
struct LmdbEntry {
  std::string key;
  std::uint64_t offset = 0;  // of the value's first byte in the file
  std::uint64_t length = 0;  // bytes of the value, all within the file
};

// Walks through the tree of a database in an LMDB file, page by page. The walk
// reads nothing itself: it tells the caller which bytes it needs next, and
// never asks for pages that hold only values. The walk finds the same entries
// as liblmdb, in key order, as the last transaction left them.
//
// A writer may reuse pages of the tree in later transactions. The entries found
// are therefore valid only if the meta pages, read again after the walk, still
// name the same last transaction.
//
// Not thread-safe; owns what it stores; never blocks. Every error ends the walk
// and names the file; DATA_LOSS names the offset, too. DATA_LOSS: the file is
// truncated, damaged or not an LMDB file. UNIMPLEMENTED: see lmdb_page.h.
// NOT_FOUND: the file has no database of that name. INVALID_ARGUMENT: the file
// has only named databases, and the caller named none.
class LmdbWalk {
 public:
  // A range of bytes that lies within the file.
  struct Range {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };

  // Begins a walk through a file named `object` of `size` bytes. `database` is
  // the database's name; an empty name means the unnamed database.
  static absl::StatusOr<LmdbWalk> Create(std::string object, std::uint64_t size,
                                         std::string database = {});

  // Returns the range that the walk needs next, or nothing if the walk is over.
  std::optional<Range> wanted() const;
  // Returns the range that holds both meta pages. Returns nothing while the
  // page size is unknown, or if the file is too short for both.
  std::optional<Range> metas() const;

  // Takes `bytes`, which lie at `offset` in the file. Walks as far as these
  // bytes allow, and appends the entries found to `entries`.
  absl::Status Parse(std::uint64_t offset, absl::Span<const std::uint8_t> bytes,
                     std::vector<LmdbEntry>* entries);

  // Bytes of a page, and the id of the last transaction. Before the first meta
  // page was taken, both are 0. Until the second one was taken, both are those
  // of the first.
  std::uint64_t page_bytes() const { return meta_.page_bytes; }
  std::uint64_t transaction() const { return meta_.transaction; }
  // Bytes of the file up to the end of the last page in use; all bytes of the
  // file while that is unknown. Writers with MDB_WRITEMAP make a file as large
  // as their map, far beyond the pages in use.
  std::uint64_t used_bytes() const;

 private:
  // The page that the walk needs next; kOver if it needs none.
  enum class Stage { kFirstMeta, kSecondMeta, kTree, kOver };

  // A branch page on the path from the root to the present page.
  struct Branch {
    std::uint64_t page = 0;            // number of the branch page
    std::vector<std::uint64_t> below;  // numbers of its child pages
    std::size_t next = 0;              // index of the child to visit next
  };

  LmdbWalk(std::string object, std::uint64_t size, std::string database)
      : object_(std::move(object)),
        size_(size),
        database_(std::move(database)),
        searches_(!database_.empty()) {}

  // Takes the bytes of wanted(), and chooses the next page.
  absl::Status ParsePiece(absl::Span<const std::uint8_t> bytes,
                          std::vector<LmdbEntry>* entries);
  absl::Status ParseMeta(absl::Span<const std::uint8_t> bytes);
  absl::Status ParsePage(absl::Span<const std::uint8_t> bytes,
                         std::vector<LmdbEntry>* entries);
  absl::Status ParseLeaf(absl::Span<const std::uint8_t> bytes,
                         std::vector<LmdbEntry>* entries);
  absl::StatusOr<std::uint64_t> OffsetOf(const LmdbNode& node) const;
  absl::Status AddDatabase(std::string_view name);
  // Begins the walk through a tree, or finishes it if the tree is empty.
  absl::Status Start(const LmdbTree& tree);
  // Makes `page` the next page. Fails if it cannot be a page of the tree.
  absl::Status GoTo(std::uint64_t page);
  absl::Status GoOn();
  // Ends the walk. Fails if the number of entries found differs from that in
  // the tree's record. Also fails if the wanted database was not found, or if
  // the unnamed database holds only named databases.
  absl::Status Finish();
  // Returns the names of the first named databases, for errors.
  std::string Databases() const;
  absl::Status Annotated(const absl::Status& status,
                         std::uint64_t offset) const;

  std::string object_;
  std::uint64_t size_ = 0;
  std::string database_;
  // Whether the walk is still in the unnamed database and looks there for the
  // record of `database_`.
  bool searches_ = false;
  Stage stage_ = Stage::kFirstMeta;
  LmdbMeta meta_;  // the newer of the meta pages taken so far
  LmdbTree tree_;  // the tree that the walk is in
  // The branches from the tree's root down to page_, which is wanted next.
  std::vector<Branch> path_;
  std::uint64_t page_ = 0;
  std::uint64_t visited_pages_ = 0;    // pages of tree_ visited, page_ included
  std::uint64_t visited_entries_ = 0;  // entries found in tree_
  bool has_values_ = false;            // whether any entry was returned
  // `names_` has the names of the first kNamesTold named databases, for errors.
  // `database_count_` is the number of all named databases.
  std::vector<std::string> names_;
  std::uint64_t database_count_ = 0;
};

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_LMDB_WALK_H_
