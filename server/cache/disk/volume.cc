#include "server/cache/disk/volume.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::cache::disk {
namespace {

constexpr char kLockName[] = "lock";

// Returns a system call's result, or minus errno if it failed.
int OrErrno(int result) { return result < 0 ? -errno : result; }

// Returns PERMISSION_DENIED unless the directory belongs to the daemon's user
// and nobody else may use it: others could put bytes there that jobs train on.
absl::Status CheckOurs(int directory, const std::string& path) {
  struct stat stat;
  if (fstat(directory, &stat) != 0) return base::ErrnoStatus(errno, path);
  if (stat.st_uid != geteuid() || (stat.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        path, " belongs to user ", stat.st_uid,
        " or is open to others: it must be ours alone (chmod 700)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CacheDirectory>> CacheDirectory::Lock(
    const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return base::ErrnoStatus(errno, path);
  base::Fd directory(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) {
    if (errno == ENOTDIR || errno == ELOOP) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " is not a directory"));
    }
    return base::ErrnoStatus(errno, path);
  }
  FOREBAY_RETURN_IF_ERROR(CheckOurs(directory.get(), path));
  base::Fd lock(openat(directory.get(), kLockName,
                       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return base::ErrnoStatus(errno, absl::StrCat(path, "/lock"));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return absl::AlreadyExistsError(
          absl::StrCat("another forebayd already keeps its cache in ", path));
    }
    return base::ErrnoStatus(errno, absl::StrCat(path, "/lock"));
  }
  return std::unique_ptr<CacheDirectory>(
      new CacheDirectory(path, std::move(directory), std::move(lock)));
}

int CacheDirectory::List(std::vector<std::string>* names) {
  const int fd =
      openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -errno;
  DIR* const listing = fdopendir(fd);
  if (listing == nullptr) {
    const int error = errno;
    close(fd);
    return -error;
  }
  for (;;) {
    errno = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone
    const dirent* const entry = readdir(listing);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name != kLockName) {
      names->emplace_back(name);
    }
  }
  const int error = errno;
  closedir(listing);
  return -error;
}

// Some file systems refuse O_DIRECT with EINVAL (open(2)). Their files are
// opened without O_DIRECT and go through the page cache. O_NONBLOCK is for the
// case that `name` is a FIFO, whose opening would block the daemon.
int CacheDirectory::OpenFile(const std::string& name, int flags) {
  flags |= O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = openat(directory_.get(), name.c_str(), flags | O_DIRECT, 0600);
  if (fd >= 0 || errno != EINVAL) return OrErrno(fd);
  // The first call may have created the file before it failed.
  return OrErrno(openat(directory_.get(), name.c_str(), flags & ~O_EXCL, 0600));
}

int CacheDirectory::Create(const std::string& name, std::uint64_t bytes) {
  const int fd = OpenFile(name, O_CREAT | O_EXCL);
  if (fd < 0) return fd;
  const auto length = static_cast<off_t>(bytes);
  int result = OrErrno(fallocate(fd, 0, 0, length));
  // Some file systems cannot reserve space. There the disk may turn out to be
  // full when the segment is written.
  if (result == -EOPNOTSUPP) result = OrErrno(ftruncate(fd, length));
  if (result == 0) return fd;
  close(fd);
  Remove(name);
  return result;
}

int CacheDirectory::Open(const std::string& name) {
  base::Fd fd(OpenFile(name, 0));
  if (!fd) return fd.Release();
  struct stat stat;
  if (fstat(fd.get(), &stat) != 0) return -errno;
  if (!S_ISREG(stat.st_mode) || stat.st_uid != geteuid()) return -EPERM;
  return fd.Release();
}

int CacheDirectory::Remove(const std::string& name) {
  return OrErrno(unlinkat(directory_.get(), name.c_str(), 0));
}

std::int64_t CacheDirectory::Size(int fd) {
  struct stat stat;
  if (fstat(fd, &stat) != 0) return -errno;
  return stat.st_size;
}

ssize_t CacheDirectory::Pread(int fd, void* buffer, std::size_t length,
                              off_t offset) {
  const ssize_t got = pread(fd, buffer, length, offset);
  return got < 0 ? -errno : got;
}

ssize_t CacheDirectory::Pwrite(int fd, const void* buffer, std::size_t length,
                               off_t offset) {
  const ssize_t written = pwrite(fd, buffer, length, offset);
  return written < 0 ? -errno : written;
}

int CacheDirectory::Sync(int fd) { return OrErrno(fdatasync(fd)); }

}  // namespace forebay::cache::disk
