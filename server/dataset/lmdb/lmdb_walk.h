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

struct LmdbEntry {
  std::string key;
  std::uint64_t offset = 0;  // of the value in the file; bytes
  std::uint64_t length = 0;  // bytes; they lie within the file
};

// Walks through the tree of a database in an LMDB file, from page to page. It
// reads nothing itself: it says which bytes it must see next, and never asks
// for pages of values alone. It finds the entries that liblmdb finds, in their
// order, as the last transaction left them.
//
// A writer may use pages of that tree anew after later transactions. So what
// was found counts only if the last transaction, read anew, is the same.
//
// Not thread-safe; owns what it stores; never blocks. Errors name the file,
// those of damaged files the offset, too, and end the walk. DATA_LOSS:
// truncated, damaged, or no LMDB file. UNIMPLEMENTED: see lmdb_page.h.
// NOT_FOUND: it has no such database. INVALID_ARGUMENT: it has named databases
// alone, and none was named.
class LmdbWalk {
 public:
  struct Range {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes; within the file
  };

  // `object` is the file's name, `size` its bytes; `database` is empty for the
  // unnamed one.
  static absl::StatusOr<LmdbWalk> Create(std::string object, std::uint64_t size,
                                         std::string database = {});

  // Returns what it must see next; nothing if the walk is over.
  std::optional<Range> wanted() const;
  // Returns what holds both meta pages. Nothing if it does not know their size,
  // or the file is too short for them.
  std::optional<Range> metas() const;

  // Takes `bytes`, which lie at `offset` in the file. Walks on as far as they
  // reach, and appends the entries on the way to `entries`.
  absl::Status See(std::uint64_t offset, absl::Span<const std::uint8_t> bytes,
                   std::vector<LmdbEntry>* entries);

  // Known once it has seen the meta pages; before, 0 or of the first.
  std::uint64_t page_bytes() const { return meta_.page_bytes; }
  std::uint64_t transaction() const { return meta_.transaction; }
  // Bytes of the file up to where its last page in use ends, as far as that is
  // known: less than its size if it is as large as the writer's map.
  std::uint64_t used_bytes() const;

 private:
  enum class Stage { kFirstMeta, kSecondMeta, kTree, kOver };

  // A branch, and which of the pages below it is next.
  struct Branch {
    std::uint64_t page = 0;
    std::vector<std::uint64_t> below;
    std::size_t next = 0;
  };

  LmdbWalk(std::string object, std::uint64_t size, std::string database)
      : object_(std::move(object)),
        size_(size),
        database_(std::move(database)),
        searches_(!database_.empty()) {}

  absl::Status SeePiece(absl::Span<const std::uint8_t> bytes,
                        std::vector<LmdbEntry>* entries);
  absl::Status SeeMeta(absl::Span<const std::uint8_t> bytes);
  absl::Status SeePage(absl::Span<const std::uint8_t> bytes,
                       std::vector<LmdbEntry>* entries);
  absl::Status SeeLeaf(absl::Span<const std::uint8_t> bytes,
                       std::vector<LmdbEntry>* entries);
  absl::StatusOr<std::uint64_t> OffsetOf(const LmdbNode& node) const;
  absl::Status SeeDatabase(std::string_view name);
  absl::Status Start(const LmdbTree& tree);
  absl::Status GoTo(std::uint64_t page);
  absl::Status GoOn();
  absl::Status Finish();
  std::string Databases() const;
  absl::Status Annotated(const absl::Status& status,
                         std::uint64_t offset) const;

  std::string object_;
  std::uint64_t size_ = 0;
  std::string database_;
  bool searches_ = false;  // for its record, in the unnamed database
  Stage stage_ = Stage::kFirstMeta;
  LmdbMeta meta_;  // the newest seen
  // The tree that it walks through.
  LmdbTree tree_;
  std::vector<Branch> path_;      // from the root
  std::uint64_t page_ = 0;        // the next below it
  std::uint64_t seen_pages_ = 0;  // of the tree, with the next
  std::uint64_t seen_entries_ = 0;
  bool has_values_ = false;
  // Named databases in the unnamed one: the first names, and how many.
  std::vector<std::string> names_;
  std::uint64_t database_count_ = 0;
};

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_LMDB_WALK_H_
