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
// may write. A file is replaced in one step, so that neither a reader nor a
// crash leaves half of one. Thread-safe. All calls block for the disk; their
// errors name the file.

namespace forebay::dataset {

// An open file.
struct OwnFile {
  base::Fd fd;
  std::uint64_t size = 0;  // bytes
};

// Notes that it was read, in its access time. NOT_FOUND: there is no file.
// DATA_LOSS: it is not regular. PERMISSION_DENIED: it belongs to another user.
// Others: the disk's.
absl::StatusOr<OwnFile> OpenOwnFile(const std::string& path);

// Reads all of `bytes`. Errors, which give the reason alone: DATA_LOSS: the
// file is shorter; others: the disk's.
absl::Status ReadAt(const OwnFile& file, std::uint64_t offset,
                    absl::Span<std::uint8_t> bytes);

// A file that is written piece by piece, and is there only when all of it is.
// Until then it has no name, where the disk's file system can do so: a process
// that is killed leaves nothing. Not thread-safe.
class NewOwnFile {
 public:
  // Makes missing directories, for their owner alone.
  static absl::StatusOr<NewOwnFile> Create(std::string path);
  NewOwnFile(NewOwnFile&& other) noexcept;
  NewOwnFile& operator=(NewOwnFile&&) = delete;
  // Removes it, unless it was kept.
  ~NewOwnFile();

  absl::Status Append(std::string_view bytes);
  std::uint64_t size() const { return size_; }  // bytes so far
  // Reads its first bytes, of which there are as many.
  absl::Status ReadFirst(absl::Span<char> bytes) const;
  // Puts it in the place of a former one. Returns it, open for reading.
  absl::StatusOr<base::Fd> Keep();

 private:
  // Gives a file without a name one of its own.
  absl::Status Name();

  NewOwnFile(std::string path, std::string temporary, base::Fd fd)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        fd_(std::move(fd)) {}

  const std::string path_;
  std::string temporary_;  // empty: it has no name, or its final one
  base::Fd fd_;
  std::uint64_t size_ = 0;
};

// Makes missing directories, for their owner alone. On failure the former file
// is still there.
absl::Status ReplaceOwnFile(const std::string& path, std::string_view bytes);

// Succeeds, too, if there is no file.
absl::Status RemoveOwnFile(const std::string& path);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OWN_FILE_H_
