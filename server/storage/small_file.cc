#include "server/storage/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/base/fd.h"
#include "server/base/status.h"

namespace forebay::storage {
namespace {

// A longer file cannot be a file of credentials or settings.
constexpr std::size_t kMaxFileBytes = 64 << 10;

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  // O_NONBLOCK keeps the open of a pipe from waiting for its writer.
  const base::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return base::ErrnoStatus(errno, path);
  std::string content(kMaxFileBytes + 1, '\0');
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got =
        read(file.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoStatus(errno, path);
    if (got == 0) break;
    filled += got;
  }
  if (filled > kMaxFileBytes)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is too long for credentials"));
  content.resize(filled);
  return content;
}

}  // namespace forebay::storage
