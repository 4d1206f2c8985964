#include "server/storage/local/uring_source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/storage/wrong_domain.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/unit/server/storage/local/uring_source_fixture.h"

namespace forebay::storage::local {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::MatchesRegex;

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source reads what the caches hold",
                 "[local][uring_source]") {
  CHECK(*Read(Request()) == "0123456789");
  CHECK(source_->cpu_nanos() > 0);
}

TEST_CASE_METHOD(UringSourceTest, "The io_uring source reads cold files",
                 "[local][uring_source]") {
  ReadManyColdFiles();
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source reads cold files one at a time",
                 "[local][uring_source]") {
  Start({}, {.depth = 1, .pool = {}});
  ReadManyColdFiles();
}

// The kernel answers as if its caches were empty, even of names.
TEST_CASE_METHOD(
    UringSourceTest,
    "The io_uring source waits in the ring where the caches hold nothing",
    "[local][uring_source]") {
  Start({{SYS_openat2, EAGAIN}, {SYS_preadv2, EAGAIN}});
  ReadManyColdFiles();
  CHECK(*Read(Request()) == "0123456789");
  ExpectError(Request("missing.jpg"), absl::StatusCode::kNotFound,
              "there is no such file or directory");
  ExpectError(Request("a/x.jpg/y"), absl::StatusCode::kNotFound,
              "a part of this path is not a directory");
}

// After some reads, the source bypasses the page cache if the file system
// allows it.
TEST_CASE_METHOD(
    UringSourceTest,
    "The io_uring source reads files that are never in the page cache",
    "[local][uring_source]") {
  // In the three cases, all memory of the source is pinned, a part of it, and
  // none.
  for (const std::size_t pinned : {8 << 20, 1 << 20, 0}) {
    Start({}, {.page_cache_room = NoRoom, .pinned_bytes = pinned, .pool = {}});
    for (int i = 0; i < 5; ++i) ReadManyColdFiles();
  }
  // The bytes of a file that was just written are correct.
  scratch_.Write("new", std::string(100'000, 'n'));
  CHECK(*Read(Request("new")) == std::string(100'000, 'n'));
}

// The reads are parts of a file that stays open, as a shard does.
TEST_CASE_METHOD(UringSourceTest, "The io_uring source reads files in parts",
                 "[local][uring_source]") {
  Start({}, {.page_cache_room = NoRoom, .pool = {}});
  const std::string content = RandomText(1 << 20, 5);
  scratch_.Write("shard", content);
  const ReadRequest whole = Request("shard");
  std::mt19937 random(6);
  for (int i = 0; i < 300; ++i) {
    ReadRequest part = Request("shard");
    part.offset = random() % (content.size() - 40'000);
    part.length = 16'384 + random() % 20'000;
    CAPTURE(i);
    CHECK(*Read(part) == content.substr(part.offset, part.length));
    // Small parts are read by another code path of the source.
    part.length = 100;
    CHECK(*Read(part) == content.substr(part.offset, 100));
  }
  // The file is overwritten in place, so it is no longer the requested version.
  scratch_.Write("shard", content + "more");
  ReadRequest part = whole;
  part.length = 20'000;
  CHECK_THAT(Read(part), HasCode(absl::StatusCode::kFailedPrecondition));
  // The file is replaced. Its name now means another file, which is read.
  const std::string other = RandomText(1 << 20, 7);
  scratch_.Write("other", other);
  std::filesystem::rename(scratch_.Path("other"), scratch_.Path("shard"));
  CHECK_THAT(Read(part), HasCode(absl::StatusCode::kFailedPrecondition));
  part = Request("shard");
  part.length = 20'000;
  CHECK(*Read(part) == other.substr(0, 20'000));
  std::filesystem::remove(scratch_.Path("shard"));
  CHECK_THAT(Read(part), HasCode(absl::StatusCode::kNotFound));
}

// The file that stayed open still exists under another name.
TEST_CASE_METHOD(
    UringSourceTest,
    "The io_uring source reads the file that a name stands for now",
    "[local][uring_source]") {
  Start({}, {.page_cache_room = NoRoom, .pool = {}});
  const std::string content = RandomText(1 << 20, 5);
  const std::string other = RandomText(1 << 20, 7);
  scratch_.Write("shard", content);
  scratch_.Write("other", other);
  std::filesystem::create_hard_link(scratch_.Path("shard"),
                                    scratch_.Path("backup"));
  const auto time = std::filesystem::last_write_time(scratch_.Path("shard"));
  std::filesystem::last_write_time(scratch_.Path("other"), time);
  ReadRequest any = Request("shard");
  any.version.revision = {};
  any.length = 20'000;
  CHECK(*Read(any) == content.substr(0, 20'000));
  ReadRequest same = Request("shard");
  same.length = 20'000;
  CHECK(*Read(same) == content.substr(0, 20'000));
  std::filesystem::rename(scratch_.Path("other"), scratch_.Path("shard"));
  CHECK(*Read(any) == other.substr(0, 20'000));
  CHECK_THAT(Read(same), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source tells which revision it read",
                 "[local][uring_source]") {
  Revision seen;
  ReadRequest request = Request();
  const Revision now = request.version.revision;
  CHECK(*Read(request, &seen) == "0123456789");
  CHECK(seen == now);
  // Bytes that the reader already has are not read again.
  request.unless = now;
  CHECK_THAT(*Read(request), Catch::Equals(""));
  request.unless = Revision{now.inode, now.ctime_nanos - 1};
  CHECK(*Read(request) == "0123456789");
  request.version.revision.ctime_nanos -= 1;
  ExpectError(request, absl::StatusCode::kAborted,
              "was touched since the dataset was indexed");
  request.version.revision = {now.inode + 1, now.ctime_nanos};
  ExpectError(std::move(request), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed since the dataset was indexed");
}

// A container's seccomp filter may refuse preadv2.
TEST_CASE_METHOD(UringSourceTest, "The io_uring source needs no preadv2",
                 "[local][uring_source]") {
  Start({{SYS_preadv2, EPERM}});
  ReadManyColdFiles();
}

// Some file systems cannot tell whether a read would wait.
TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source leaves to threads what rings do badly",
                 "[local][uring_source]") {
  Start({{SYS_preadv2, EOPNOTSUPP}});
  ReadManyColdFiles();
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source refuses what is not a regular file",
                 "[local][uring_source]") {
  REQUIRE(mkfifo(scratch_.Path("a/fifo.jpg").c_str(), 0600) == 0);
  ExpectError(Request("a/fifo.jpg"), absl::StatusCode::kInvalidArgument,
              "is a FIFO, not a regular file");
  ExpectError(Request("a"), absl::StatusCode::kInvalidArgument,
              "is a directory, not a regular file");
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source refuses a path with a zero byte",
                 "[local][uring_source]") {
  ReadRequest request = Request();
  request.object += '\0';
  request.object += "y";
  ExpectError(std::move(request), absl::StatusCode::kInvalidArgument,
              "a path cannot hold a zero byte");
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source refuses a file that has changed",
                 "[local][uring_source]") {
  ReadRequest request = Request();
  scratch_.Write("a/x.jpg", "0123456789+");
  ExpectError(std::move(request), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed since the dataset was indexed");
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source says that a file was deleted",
                 "[local][uring_source]") {
  ReadRequest request = Request();
  std::filesystem::remove(scratch_.Path("a/x.jpg"));
  ExpectError(std::move(request), absl::StatusCode::kNotFound,
              "there is no such file or directory");
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source follows the rules of its root",
                 "[local][uring_source]") {
  scratch_.Link("a/out.jpg", "/etc/passwd");
  ExpectError(Request("a/out.jpg"), absl::StatusCode::kPermissionDenied,
              "leads outside the dataset's root to /etc/passwd; "
              "declare extra_roots=[...] to allow it");
  scratch_.Link("a/in.jpg", "x.jpg");
  CHECK(*Read(Request("a/in.jpg")) == "0123456789");
  // The link leads outside, and back inside by the root's own path.
  scratch_.Link("a/back.jpg", scratch_.Path("a/x.jpg"));
  CHECK(*Read(Request("a/back.jpg")) == "0123456789");
  scratch_.Link("a/loop.jpg", "loop.jpg");
  ExpectError(Request("a/loop.jpg"), absl::StatusCode::kInvalidArgument,
              "too many links lead to one another");
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source reports a file that ends early",
                 "[local][uring_source]") {
  Start({{SYS_preadv2, 0}});  // every read then finds the file's end
  ExpectError(Request(), absl::StatusCode::kDataLoss,
              "ends after 0 of 10 bytes");
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source reports faults that may pass",
                 "[local][uring_source]") {
  Start({{SYS_fstat, ESTALE}, {SYS_newfstatat, ESTALE}});
  ExpectError(Request(), absl::StatusCode::kUnavailable, "Stale file handle");
}

TEST_CASE_METHOD(
    UringSourceTest,
    "The io_uring source leaves file systems of other kinds to threads",
    "[local][uring_source]") {
  root_ = *LocalRoot::Create(base::Fd(open("/sys/devices/system/cpu", O_PATH)),
                             "/sys/devices/system/cpu");
  CHECK_FALSE(root_->on_this_host());
  const base::Fd kept(*root_->Open("online"));
  // sysfs reports that every file is as long as a page.
  REQUIRE(Request("online").version.size == 4096);
  const absl::Status status = Read(Request("online")).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(),
             MatchesRegex("online: ends after [1-9][0-9]* of 4096 bytes"));
}

// A thread of the pool must not follow a link that is known to cross.
TEST_CASE_METHOD(UringSourceTest,
                 "Threads of the io_uring source do not leave its file system",
                 "[local][uring_source]") {
  constexpr char kFolder[] = "/sys/devices/system/cpu/cpu0";
  root_ = *LocalRoot::Create(base::Fd(open(kFolder, O_PATH)), kFolder);
  if (!std::filesystem::is_symlink(std::string(kFolder) + "/subsystem"))
    SKIP("no link there leaves the folder");
  UringSourceOptions options;
  options.pool.one_file_system = true;
  Start({}, options);
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = Read(Request("subsystem/uevent")).status();
    CAPTURE(status);
    CHECK(IsWrongDomain(status));
  }
}

TEST_CASE_METHOD(UringSourceTest,
                 "The io_uring source is not made without a thread",
                 "[local][uring_source]") {
  UringSourceOptions options;
  options.start_thread = [](const std::function<void()>&) {
    return std::thread();
  };
  const absl::Status status = UringSource::Create(options).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(status.message(), Contains("no thread for a ring"));
}

TEST_CASE_METHOD(
    UringSourceTest,
    "The io_uring source is not made where io_uring cannot be used",
    "[local][uring_source]") {
  absl::Status status;
  std::thread([&] {
    RefuseSystemCall(SYS_io_uring_setup, EPERM);
    status = UringSource::Create({}).status();
  }).join();
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(status.message(), Contains("io_uring is forbidden here"));
}

}  // namespace
}  // namespace forebay::storage::local
