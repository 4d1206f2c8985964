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

// Keeps files open that are read in parts, such as shards. The ring knows them
// by number, which spares the kernel a look-up. When full, closes the least
// recently used file that no read uses.
//
// Belongs to the ring's thread. The ring outlives it, and it outlives the reads
// that share its files. Never blocks. No errors: a file that cannot stay open
// is opened again.
class OpenFiles {
 public:
  struct File {
    base::Fd fd;
    std::uint64_t alignment = 0;                    // of reads
    std::optional<unsigned> number = std::nullopt;  // in the ring
  };

  // Keeps at most `most` files, not counting those still read after Drop.
  OpenFiles(Ring* ring, std::size_t most);

  // Returns null if the file is not open.
  std::shared_ptr<const File> Find(const ReadRequest& request);
  // Keeps the file open, in place of any other of the same object.
  std::shared_ptr<const File> Keep(const ReadRequest& request, File file);
  // Closes the object's file: another has its name.
  void Drop(const ReadRequest& request);
  // Closes the files of roots that are gone.
  void DropOrphans();

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::weak_ptr<const Root> root;
    std::pair<const Root*, std::string> key;
    std::shared_ptr<const File> file;
  };
  using Entries = std::list<Entry>;  // the most recently used first

  Entries::iterator Lookup(const ReadRequest& request);
  void Erase(Entries::iterator entry);
  std::shared_ptr<const File> Share(File file);
  bool MakeRoom();

  Ring* const ring_;
  const std::size_t most_;
  std::vector<unsigned> free_numbers_;  // in the ring
  Entries entries_;
  absl::flat_hash_map<std::pair<const Root*, std::string>, Entries::iterator>
      places_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_OPEN_FILES_H_
