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

// The directory of the tier's files, with its system calls, so that tests can
// inject faults. Thread-safe. Owned by the caller. All methods may block for
// the disk. Errors are minus errno.
class Volume {
 public:
  virtual ~Volume() = default;

  // Names the directory for people.
  virtual const std::string& path() const = 0;
  // Appends the names of all files.
  virtual int List(std::vector<std::string>* names) = 0;
  // Creates a file of that many bytes, for which the disk has space. Returns a
  // descriptor.
  virtual int Create(const std::string& name, std::uint64_t bytes) = 0;
  // Opens a regular file of this user. Returns a descriptor.
  virtual int Open(const std::string& name) = 0;
  virtual int Remove(const std::string& name) = 0;
  virtual std::int64_t Size(int fd) = 0;  // bytes
  // Memory, lengths and offsets are of whole pages.
  virtual ssize_t Pread(int fd, void* buffer, std::size_t length,
                        off_t offset) = 0;
  virtual ssize_t Pwrite(int fd, const void* buffer, std::size_t length,
                         off_t offset) = 0;
  // Blocks until what was written would survive a loss of power.
  virtual int Sync(int fd) = 0;
};

// A directory of one tier of one daemon. Created if it does not exist, and
// locked until destruction. Reads and writes bypass the page cache if the file
// system allows, because the tier above caches what is wanted soon.
class Directory final : public Volume {
 public:
  // Errors name the path: ALREADY_EXISTS (another daemon uses it),
  // PERMISSION_DENIED (of another user, or open to others), FAILED_PRECONDITION
  // (not a directory), and those of the file system.
  static absl::StatusOr<std::unique_ptr<Directory>> Lock(
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

  // The descriptor that the lock is held by. It belongs to this object.
  int lock() const { return lock_.get(); }

 private:
  Directory(std::string path, base::Fd directory, base::Fd lock)
      : path_(std::move(path)),
        directory_(std::move(directory)),
        lock_(std::move(lock)) {}

  int OpenFile(const std::string& name, int flags);

  const std::string path_;
  const base::Fd directory_;
  const base::Fd lock_;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_VOLUME_H_
