#include "server/dataset/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

// A file is replaced in four steps. Their order makes the replacement atomic
// and durable. First the new file is written, without a name or under a
// temporary name. Then it is synced. Then a rename puts it in the place of the
// former file. Last the directory is synced, so that the rename survives a
// crash, too.

namespace forebay::dataset {
namespace {

// Writes all of `bytes`, by several calls if the kernel writes them in parts.
absl::Status WriteAll(int fd, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return base::ErrnoStatus(errno, path);
    }
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

// Creates the directory `path` and its missing parents, which only this user
// may use.
absl::Status MakeDirectories(const std::string& path) {
  for (std::size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return base::ErrnoStatus(errno, part);
  }
  return absl::OkStatus();
}

// Makes a rename in the directory durable.
absl::Status SyncDirectory(const std::string& path) {
  const base::Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) return base::ErrnoStatus(errno, path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OwnFile> OpenOwnFile(const std::string& path) {
  // O_NONBLOCK: opening a FIFO in the file's place must not block.
  base::Fd fd(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat stat;
  if (!fd || fstat(fd.get(), &stat) != 0) return base::ErrnoStatus(errno, path);
  if (!S_ISREG(stat.st_mode)) {
    return absl::DataLossError(absl::StrCat(path, ": is not a regular file"));
  }
  if (stat.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": belongs to user ", stat.st_uid));
  }
  // The access time is set explicitly, since with most mount options (noatime,
  // relatime) reads do not set it. On a read-only file system this fails,
  // without harm.
  const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)futimens(fd.get(), times);
  return OwnFile{std::move(fd), static_cast<std::uint64_t>(stat.st_size)};
}

absl::Status ReadAt(const OwnFile& file, std::uint64_t offset,
                    absl::Span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = pread(file.fd.get(), bytes.data(), bytes.size(),
                              static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoStatus(errno, "it cannot be read");
    if (got == 0) return absl::DataLossError("it was cut off");
    bytes.remove_prefix(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<NewOwnFile> NewOwnFile::Create(std::string path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  FOREBAY_RETURN_IF_ERROR(MakeDirectories(directory));
  // Some file systems do not support O_TMPFILE. There the file gets a temporary
  // name.
  base::Fd unnamed(
      open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (unnamed) return NewOwnFile(std::move(path), {}, std::move(unnamed));
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  base::Fd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return base::ErrnoStatus(errno, path);
  return NewOwnFile(std::move(path), std::move(temporary), std::move(fd));
}

NewOwnFile::NewOwnFile(NewOwnFile&& other) noexcept
    : path_(other.path_),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)),
      size_(other.size_) {}

NewOwnFile::~NewOwnFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status NewOwnFile::Append(std::string_view bytes) {
  FOREBAY_RETURN_IF_ERROR(WriteAll(fd_.get(), bytes, path_));
  size_ += bytes.size();
  return absl::OkStatus();
}

absl::Status NewOwnFile::ReadFirst(absl::Span<char> bytes) const {
  off_t at = 0;
  while (!bytes.empty()) {
    const ssize_t got = pread(fd_.get(), bytes.data(), bytes.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoStatus(errno, path_);
    if (got == 0)
      return absl::DataLossError(absl::StrCat(path_, ": was cut off"));
    bytes.remove_prefix(static_cast<std::size_t>(got));
    at += got;
  }
  return absl::OkStatus();
}

absl::Status NewOwnFile::Name() {
  static std::atomic<std::uint64_t> names = 0;
  std::string name = absl::StrCat(path_, ".", getpid(), "-", ++names);
  const std::string open_file = absl::StrCat("/proc/self/fd/", fd_.get());
  if (linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(),
             AT_SYMLINK_FOLLOW) != 0)
    return base::ErrnoStatus(errno, path_);
  temporary_ = std::move(name);
  return absl::OkStatus();
}

absl::StatusOr<base::Fd> NewOwnFile::Keep() {
  // The bytes are durable before the name is. So a file that is found after a
  // crash is complete.
  if (fsync(fd_.get()) != 0) return base::ErrnoStatus(errno, path_);
  if (temporary_.empty()) FOREBAY_RETURN_IF_ERROR(Name());
  if (rename(temporary_.c_str(), path_.c_str()) != 0)
    return base::ErrnoStatus(errno, path_);
  temporary_.clear();
  FOREBAY_RETURN_IF_ERROR(SyncDirectory(path_.substr(0, path_.rfind('/'))));
  return std::move(fd_);
}

absl::Status ReplaceOwnFile(const std::string& path, std::string_view bytes) {
  FOREBAY_ASSIGN_OR_RETURN(NewOwnFile file, NewOwnFile::Create(path));
  FOREBAY_RETURN_IF_ERROR(file.Append(bytes));
  return file.Keep().status();
}

absl::Status RemoveOwnFile(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::ErrnoStatus(errno, path);
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset
