#include "server/storage/local/without_waiting.h"

#include <errno.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

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

}  // namespace forebay::storage::local
