#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_FIXTURE_H_

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/storage/local/local_root.h"
#include "server/storage/local/local_source.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {

// The real file system, with faults that a test sets before it reads.
class FaultyFiles final : public FileSystem {
 public:
  absl::StatusOr<base::Fd> Open(const LocalRoot& root,
                                std::string_view path) override {
    ++follows;
    if (on_open) on_open(path);
    return FileSystem::System()->Open(root, path);
  }
  absl::StatusOr<base::Fd> OpenWithin(const LocalRoot& root,
                                      std::string_view path) override {
    if (on_open) on_open(path);
    return FileSystem::System()->OpenWithin(root, path);
  }
  int Stat(int fd, struct stat* stat) override {
    return stat_error != 0 ? -stat_error : FileSystem::System()->Stat(fd, stat);
  }
  ssize_t Pread(int fd, void* buffer, std::size_t length,
                off_t offset) override {
    ++preads;
    if (on_pread) on_pread();
    if (pread_error != 0) return -pread_error;
    if (interruptions > 0) {
      --interruptions;
      return -EINTR;
    }
    return FileSystem::System()->Pread(fd, buffer,
                                       std::min(length, longest_pread), offset);
  }

  std::function<void(std::string_view)> on_open;
  std::function<void()> on_pread;
  int stat_error = 0;
  int pread_error = 0;
  std::atomic<int> interruptions = 0;
  std::atomic<int> follows = 0;  // opens that may leave the file system
  std::atomic<int> preads = 0;
  std::size_t longest_pread = SIZE_MAX;
};

// A source with one thread, and a file to read.
class LocalSourceTest {
 protected:
  LocalSourceTest()
      : root_(*LocalRoot::Create(scratch_.Open(), scratch_.Path())),
        source_(std::in_place,
                LocalSourceOptions{
                    .threads = 1, .spare_bytes = 1 << 20, .files = &files_}) {
    scratch_.Write("a/x.jpg", "0123456789");
    version_ = root_->Stat("a/x.jpg")->version();
  }

  ReadRequest Request(const std::string& object = "a/x.jpg") {
    ReadRequest request;
    request.root = root_;
    request.object = object;
    request.version = version_;
    request.length = version_.size;
    return request;
  }

  absl::StatusOr<std::string> Read(ReadRequest request,
                                   Revision* seen = nullptr) {
    return ReadText(*source_, std::move(request), seen);
  }

  void ExpectError(ReadRequest request, absl::StatusCode code,
                   const std::string& reason) {
    const std::string object = request.object;
    const absl::Status status = Read(std::move(request)).status();
    CHECK_THAT(status, tests::HasCode(code));
    CHECK_THAT(status.message(), tests::Contains(object + ": "));
    CHECK_THAT(status.message(), tests::Contains(reason));
  }

  const ScratchDir scratch_;
  FaultyFiles files_;
  const std::shared_ptr<const LocalRoot> root_;
  std::optional<LocalSource> source_;
  ObjectVersion version_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_LOCAL_SOURCE_FIXTURE_H_
