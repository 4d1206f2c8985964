#ifndef FOREBAY_SERVER_STORAGE_LOCAL_OPEN_FILES_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_OPEN_FILES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/base/fd.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/ring.h"

namespace forebay::storage::local {

// Keeps open the files that are read in parts, such as tar files. They are
// registered with the ring under numbers, which saves the kernel a look-up at
// each read. When full, this object closes the least recently used file that no
// read uses.
//
// Only the ring's thread uses it. The ring outlives this object, which outlives
// the reads that share its files. Never blocks. No errors: a file that cannot
// stay open is opened again.
class OpenFiles {
 public:
  // A file that is open for reads past the page cache.
  struct File {
    base::Fd fd;
    // The alignment of reads, in bytes.
    std::uint64_t alignment = 0;
    // The file's number in the ring, if it has one.
    std::optional<unsigned> number = std::nullopt;
  };

  // Keeps at most `most` files open, not counting dropped files that reads
  // still use.
  OpenFiles(Ring* ring, std::size_t most);

  // Returns the object's file, or null if it is not open.
  std::shared_ptr<const File> Find(const ReadRequest& request);
  // Keeps the file open, in place of any other file of the same object. If
  // there is no room, the file closes after its reads.
  std::shared_ptr<const File> Keep(const ReadRequest& request, File file);
  // Closes the object's file, because another file has its name.
  void Drop(const ReadRequest& request);
  // Closes the files of roots that are gone.
  void DropOrphans();

  std::size_t size() const { return entries_.size(); }

 private:
  // An open file, and the root and object by which it is found.
  struct Entry {
    std::weak_ptr<const Root> root;
    std::pair<const Root*, std::string> key;
    std::shared_ptr<const File> file;
  };
  // The entries in the order of their last use, the most recent first.
  using Entries = std::list<Entry>;

  // Returns the object's entry, or the end of `entries_`.
  Entries::iterator Lookup(const ReadRequest& request);
  void Erase(Entries::iterator entry);
  // Gives the file a number in the ring, if one is free. The number is freed
  // when the last reference to the file is gone.
  std::shared_ptr<const File> Share(File file);
  // Closes the least recently used file that no read uses. Returns false if
  // there is none.
  bool MakeRoom();

  Ring* const ring_;
  const std::size_t most_;
  // The numbers in the ring that no file has.
  std::vector<unsigned> free_numbers_;
  Entries entries_;
  absl::flat_hash_map<std::pair<const Root*, std::string>, Entries::iterator>
      places_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_OPEN_FILES_H_
