#ifndef FOREBAY_SERVER_CACHE_DISK_VOLUME_H_
#define FOREBAY_SERVER_CACHE_DISK_VOLUME_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::cache::disk {

// Where the tier keeps its files, and the system calls that it makes there, so
// that tests can make them fail. Thread-safe; the caller owns it; all may block
// for the disk. Errors are said as the kernel does: minus errno.
class Volume {
 public:
  virtual ~Volume() = default;

  // The names of all files.
  virtual int List(std::vector<std::string>* names) = 0;
  // A new file of that many bytes, for which the disk has room: a descriptor.
  virtual int Create(const std::string& name, std::uint64_t bytes) = 0;
  // One that is there, a regular file of ours: a descriptor.
  virtual int Open(const std::string& name) = 0;
  virtual int Remove(const std::string& name) = 0;
  virtual std::int64_t Size(int fd) = 0;  // bytes
  // Memory, lengths and offsets are of whole pages.
  virtual ssize_t Pread(int fd, void* buffer, std::size_t length,
                        off_t offset) = 0;
  virtual ssize_t Pwrite(int fd, const void* buffer, std::size_t length,
                         off_t offset) = 0;
  // Until what was written outlives a loss of power.
  virtual int Sync(int fd) = 0;
};

// A directory of one tier of one daemon: made if need be, and locked for as
// long as this is there. Files are read and written past the page cache where
// the file system can, for what is wanted soon lies in the cache above.
class Directory final : public Volume {
 public:
  // Errors name the path: ALREADY_EXISTS (another daemon uses it),
  // PERMISSION_DENIED (not ours, or open to others), FAILED_PRECONDITION (no
  // directory), and what the file system says.
  static absl::StatusOr<std::unique_ptr<Directory>> Lock(
      const std::string& path);

  int List(std::vector<std::string>* names) override;
  int Create(const std::string& name, std::uint64_t bytes) override;
  int Open(const std::string& name) override;
  int Remove(const std::string& name) override;
  std::int64_t Size(int fd) override;
  ssize_t Pread(int fd, void* buffer, std::size_t length,
                off_t offset) override;
  ssize_t Pwrite(int fd, const void* buffer, std::size_t length,
                 off_t offset) override;
  int Sync(int fd) override;

 private:
  Directory(base::Fd directory, base::Fd lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  int OpenFile(const std::string& name, int flags);

  const base::Fd directory_;
  const base::Fd lock_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_VOLUME_H_
