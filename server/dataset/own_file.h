#ifndef FOREBAY_SERVER_DATASET_OWN_FILE_H_
#define FOREBAY_SERVER_DATASET_OWN_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"

// Files that the daemon writes for itself, in directories that only its user
// may write. A file is replaced atomically by a rename: readers never find half
// a file, not even after a crash. The functions are thread-safe and block for
// the disk. Their errors name the file, unless they say otherwise.

namespace forebay::dataset {

// A file that is open for reading.
struct OwnFile {
  base::Fd fd;
  std::uint64_t size = 0;  // bytes
};

// Opens a file for reading. Sets its access time to now: TrimIndexFolder finds
// the least recently used files by that time. NOT_FOUND: there is no file.
// DATA_LOSS: it is not a regular file. PERMISSION_DENIED: it belongs to another
// user. Others: errors of the disk.
absl::StatusOr<OwnFile> OpenOwnFile(const std::string& path);

// Fills `bytes` from the file's bytes at `offset`. Errors do not name the file.
// DATA_LOSS: the file is shorter. Others: errors of the disk.
absl::Status ReadAt(const OwnFile& file, std::uint64_t offset,
                    absl::Span<std::uint8_t> bytes);

// A new file that is written piece by piece, and appears under its path only
// when it is complete. Where the file system supports O_TMPFILE, the file has
// no name until then, so a process that is killed leaves nothing behind.
//
// Not thread-safe. Owns the file until Keep. Blocks for the disk. Errors are
// those of the disk, and name the file.
class NewOwnFile {
 public:
  // Creates the file. Creates missing directories, which only their owner may
  // use.
  static absl::StatusOr<NewOwnFile> Create(std::string path);
  NewOwnFile(NewOwnFile&& other) noexcept;
  NewOwnFile& operator=(NewOwnFile&&) = delete;
  // Removes the file, unless Keep has succeeded.
  ~NewOwnFile();

  // Appends `bytes` to the file.
  absl::Status Append(std::string_view bytes);
  std::uint64_t size() const { return size_; }  // bytes so far
  // Fills `bytes` with the first bytes of the file. The file must have that
  // many bytes.
  absl::Status ReadFirst(absl::Span<char> bytes) const;
  // Syncs the file and renames it to its path. Replaces a file that has this
  // path already. Returns the new file's descriptor, which is still open for
  // reading.
  absl::StatusOr<base::Fd> Keep();

 private:
  // Gives the file, which has no name yet, a temporary name.
  absl::Status Name();

  NewOwnFile(std::string path, std::string temporary, base::Fd fd)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        fd_(std::move(fd)) {}

  const std::string path_;
  std::string temporary_;  // empty if the file has no name, or was kept
  base::Fd fd_;
  std::uint64_t size_ = 0;  // bytes
};

// Writes a whole file atomically. Creates missing directories, which only their
// owner may use. If this fails, the old file stays.
absl::Status ReplaceOwnFile(const std::string& path, std::string_view bytes);

// Removes a file. Also succeeds if there is no such file.
absl::Status RemoveOwnFile(const std::string& path);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OWN_FILE_H_
