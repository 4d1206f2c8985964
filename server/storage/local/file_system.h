#ifndef FOREBAY_SERVER_STORAGE_LOCAL_FILE_SYSTEM_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_FILE_SYSTEM_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/base/fd.h"
#include "server/storage/local/local_root.h"

namespace forebay::storage::local {

// The system calls of a read, so that tests can make them fail.
//
// Thread-safe. The caller owns it. All calls may block for the disk. On errors,
// Stat and Pread return minus errno. The other calls have the errors of
// LocalRoot.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<base::Fd> Open(const LocalRoot& root,
                                        std::string_view path) = 0;
  // Opens the file within the root's own file system.
  virtual absl::StatusOr<base::Fd> OpenWithin(const LocalRoot& root,
                                              std::string_view path) {
    return Open(root, path);
  }
  virtual int Stat(int fd, struct stat* stat) = 0;
  virtual ssize_t Pread(int fd, void* buffer, std::size_t length,
                        off_t offset) = 0;

  // Returns the real system calls. The object lives as long as the process.
  static FileSystem* System();
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_FILE_SYSTEM_H_
