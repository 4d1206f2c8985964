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

int OrErrno(int result) { return result < 0 ? -errno : result; }

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

absl::StatusOr<std::unique_ptr<Directory>> Directory::Lock(
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
  return std::unique_ptr<Directory>(
      new Directory(path, std::move(directory), std::move(lock)));
}

int Directory::List(std::vector<std::string>* names) {
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

// Falls back to the page cache if the file system does not allow bypassing it.
int Directory::OpenFile(const std::string& name, int flags) {
  flags |= O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = openat(directory_.get(), name.c_str(), flags | O_DIRECT, 0600);
  if (fd >= 0 || errno != EINVAL) return OrErrno(fd);
  // The first call may have created the file before it failed.
  return OrErrno(openat(directory_.get(), name.c_str(), flags & ~O_EXCL, 0600));
}

int Directory::Create(const std::string& name, std::uint64_t bytes) {
  const int fd = OpenFile(name, O_CREAT | O_EXCL);
  if (fd < 0) return fd;
  const auto length = static_cast<off_t>(bytes);
  int result = OrErrno(fallocate(fd, 0, 0, length));
  // Not every file system can reserve the space.
  if (result == -EOPNOTSUPP) result = OrErrno(ftruncate(fd, length));
  if (result == 0) return fd;
  close(fd);
  Remove(name);
  return result;
}

int Directory::Open(const std::string& name) {
  base::Fd fd(OpenFile(name, 0));
  if (!fd) return fd.Release();
  struct stat stat;
  if (fstat(fd.get(), &stat) != 0) return -errno;
  if (!S_ISREG(stat.st_mode) || stat.st_uid != geteuid()) return -EPERM;
  return fd.Release();
}

int Directory::Remove(const std::string& name) {
  return OrErrno(unlinkat(directory_.get(), name.c_str(), 0));
}

std::int64_t Directory::Size(int fd) {
  struct stat stat;
  if (fstat(fd, &stat) != 0) return -errno;
  return stat.st_size;
}

ssize_t Directory::Pread(int fd, void* buffer, std::size_t length,
                         off_t offset) {
  const ssize_t got = pread(fd, buffer, length, offset);
  return got < 0 ? -errno : got;
}

ssize_t Directory::Pwrite(int fd, const void* buffer, std::size_t length,
                          off_t offset) {
  const ssize_t written = pwrite(fd, buffer, length, offset);
  return written < 0 ? -errno : written;
}

int Directory::Sync(int fd) { return OrErrno(fdatasync(fd)); }

}  // namespace forebay::cache::disk
