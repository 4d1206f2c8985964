#include "server/dataset/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "server/base/fd.h"
#include "server/base/status.h"

namespace forebay::dataset {
namespace {

// An index of some 300 million samples.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 34;  // bytes

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

// Makes `path` and its missing parents, for this user alone.
absl::Status MakeDirectories(const std::string& path) {
  for (std::size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return base::ErrnoStatus(errno, part);
  }
  return absl::OkStatus();
}

absl::Status SyncDirectory(const std::string& path) {
  const base::Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) return base::ErrnoStatus(errno, path);
  return absl::OkStatus();
}

// Everything but the rename.
absl::Status WriteTemporary(int fd, std::string_view bytes,
                            const std::string& path) {
  FOREBAY_RETURN_IF_ERROR(WriteAll(fd, bytes, path));
  if (fsync(fd) != 0) return base::ErrnoStatus(errno, path);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::uint8_t>> ReadAll(int fd,
                                                  const std::string& path,
                                                  base::WorkingMemory& memory) {
  struct stat stat;
  if (fstat(fd, &stat) != 0) return base::ErrnoStatus(errno, path);
  if (!S_ISREG(stat.st_mode)) {
    return absl::DataLossError(absl::StrCat(path, ": is not a regular file"));
  }
  if (stat.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": belongs to user ", stat.st_uid));
  }
  if (static_cast<std::uint64_t>(stat.st_size) > kLargestFile) {
    return absl::DataLossError(
        absl::StrCat(path, ": is larger than ", kLargestFile, " bytes"));
  }
  const absl::Status counted =
      memory.Grow(static_cast<std::uint64_t>(stat.st_size));
  if (!counted.ok()) return base::Annotate(counted, path);
  std::vector<std::uint8_t> bytes(stat.st_size);
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = read(fd, &bytes[filled], bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoStatus(errno, path);
    if (got == 0) break;
    filled += got;
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

absl::StatusOr<std::vector<std::uint8_t>> ReadOwnFile(
    const std::string& path, base::WorkingMemory& memory) {
  // A FIFO in its place must not block.
  const base::Fd fd(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return base::ErrnoStatus(errno, path);
  return ReadAll(fd.get(), path, memory);
}

absl::Status ReplaceOwnFile(const std::string& path, std::string_view bytes) {
  const std::string directory = path.substr(0, path.rfind('/'));
  FOREBAY_RETURN_IF_ERROR(MakeDirectories(directory));
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const base::Fd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return base::ErrnoStatus(errno, path);
  absl::Status status = WriteTemporary(fd.get(), bytes, path);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = base::ErrnoStatus(errno, path);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return SyncDirectory(directory);
}

absl::Status RemoveOwnFile(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::ErrnoStatus(errno, path);
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset
