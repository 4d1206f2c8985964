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

// The directory of the tier's files, with the system calls on it. Tests inject
// faults by implementing it. Thread-safe. The caller owns it. All methods but
// path() may block for the disk. A negative result is an error: minus errno.
class Volume {
 public:
  virtual ~Volume() = default;

  // Returns the directory's path, for messages.
  virtual const std::string& path() const = 0;
  // Appends the names of all files. Returns 0, or an error.
  virtual int List(std::vector<std::string>* names) = 0;
  // Creates a file of `bytes` bytes, and reserves its space if the file system
  // can. Returns a descriptor.
  virtual int Create(const std::string& name, std::uint64_t bytes) = 0;
  // Opens a regular file of this user. Returns a descriptor.
  virtual int Open(const std::string& name) = 0;
  // Removes a file's name. Open descriptors of the file stay usable.
  virtual int Remove(const std::string& name) = 0;
  virtual std::int64_t Size(int fd) = 0;  // bytes
  // Pread and Pwrite move bytes at `offset`, and return how many. Memory,
  // lengths and offsets are aligned to pages.
  virtual ssize_t Pread(int fd, void* buffer, std::size_t length,
                        off_t offset) = 0;
  virtual ssize_t Pwrite(int fd, const void* buffer, std::size_t length,
                         off_t offset) = 0;
  // Blocks until what was written would survive a loss of power.
  virtual int Sync(int fd) = 0;
};

// The directory of one tier of one daemon. Lock creates it if it does not
// exist; it stays locked until destruction. Reads and writes bypass the page
// cache if the file system allows, because the tier above caches what is wanted
// soon. Threads, ownership, blocking and errors are those of Volume.
class CacheDirectory final : public Volume {
 public:
  // Locks the directory at `path`. ALREADY_EXISTS: another daemon uses it.
  // PERMISSION_DENIED: another user owns it, or other users may access it.
  // FAILED_PRECONDITION: it is not a directory. Other errors are those of the
  // file system. Messages name the path.
  static absl::StatusOr<std::unique_ptr<CacheDirectory>> Lock(
      const std::string& path);

  const std::string& path() const override { return path_; }
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

  // Returns the descriptor that holds the lock, which this object owns.
  int lock() const { return lock_.get(); }

 private:
  CacheDirectory(std::string path, base::Fd directory, base::Fd lock)
      : path_(std::move(path)),
        directory_(std::move(directory)),
        lock_(std::move(lock)) {}

  // Opens a file with `flags` in addition to those that all files need.
  int OpenFile(const std::string& name, int flags);

  const std::string path_;
  const base::Fd directory_;
  const base::Fd lock_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_VOLUME_H_
