#include "server/storage/local/file_system.h"

#include <errno.h>
#include <unistd.h>

namespace forebay::storage::local {
namespace {

class SystemFiles final : public FileSystem {
 public:
  absl::StatusOr<base::Fd> Open(const LocalRoot& root,
                                std::string_view path) override {
    return root.Open(path);
  }
  absl::StatusOr<base::Fd> OpenWithin(const LocalRoot& root,
                                      std::string_view path) override {
    return root.OpenWithin(path);
  }
  int Stat(int fd, struct stat* stat) override {
    return fstat(fd, stat) == 0 ? 0 : -errno;
  }
  ssize_t Pread(int fd, void* buffer, std::size_t length,
                off_t offset) override {
    const ssize_t got = pread(fd, buffer, length, offset);
    return got >= 0 ? got : -errno;
  }
};

}  // namespace

FileSystem* FileSystem::System() {
  static SystemFiles files;
  return &files;
}

}  // namespace forebay::storage::local
