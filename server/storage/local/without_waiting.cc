#include "server/storage/local/without_waiting.h"

#include <errno.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/storage/local/read_rules.h"

namespace forebay::storage::local {

int OpenWithoutWaiting(const LocalRoot& root, const std::string& path) {
  open_how how = LocalRoot::HowToRead();
  how.resolve |= RESOLVE_CACHED;
  const long file =
      syscall(SYS_openat2, root.directory(), path.empty() ? "." : path.c_str(),
              &how, sizeof(how));
  return file >= 0 ? static_cast<int>(file) : -errno;
}

ssize_t ReadWithoutWaiting(int file, void* buffer, std::size_t length,
                           std::uint64_t offset) {
  const iovec part = {buffer, length};
  const ssize_t got =
      preadv2(file, &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  return got >= 0 ? got : -errno;
}

std::optional<absl::Status> CheckTransactionIdWithoutWaiting(
    const ReadRequest& request, int file, bool is_past_cache,
    const struct stat& stat) {
  base::Fd opened;
  if (is_past_cache) {
    opened =
        base::Fd(OpenWithoutWaiting(**LocalRootOf(request), request.object));
    struct stat now;
    file = opened.get();
    if (file < 0 || fstat(file, &now) != 0 || now.st_dev != stat.st_dev ||
        now.st_ino != stat.st_ino)
      return std::nullopt;
  }
  bool failed = false;
  absl::Status status = CheckTransactionId(
      request, [&](std::uint64_t offset, absl::Span<std::uint8_t> bytes) {
        failed = ReadWithoutWaiting(file, bytes.data(), bytes.size(), offset) !=
                 static_cast<ssize_t>(bytes.size());
        return !failed;
      });
  if (failed) return std::nullopt;
  return status;
}

}  // namespace forebay::storage::local
