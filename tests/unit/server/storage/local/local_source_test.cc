#include "server/storage/local/local_source.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/storage/local/crossings.h"
#include "server/storage/local/local_root.h"
#include "server/storage/wrong_domain.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using ::testing::HasSubstr;

// The real file system, with faults that a test sets before it reads.
class FaultyFiles final : public FileSystem {
 public:
  absl::StatusOr<base::Fd> Open(const LocalRoot& root,
                                std::string_view path) override {
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
  int interruptions = 0;
  int preads = 0;
  std::size_t longest_pread = SIZE_MAX;
};

class LocalSourceTest : public ::testing::Test {
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
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(object + ": "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(reason));
  }

  const ScratchDir scratch_;
  FaultyFiles files_;
  const std::shared_ptr<const LocalRoot> root_;
  std::optional<LocalSource> source_;
  ObjectVersion version_;
};

TEST_F(LocalSourceTest, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo(scratch_.Path("a/fifo.jpg").c_str(), 0600), 0);
  ExpectError(Request("a/fifo.jpg"), absl::StatusCode::kInvalidArgument,
              "is a FIFO, not a regular file");
  ExpectError(Request("a"), absl::StatusCode::kInvalidArgument,
              "is a directory, not a regular file");
  EXPECT_EQ(files_.preads, 0);
}

TEST_F(LocalSourceTest, RefusesAFileThatHasChanged) {
  scratch_.Write("a/x.jpg", "0123456789+");
  ExpectError(Request(), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed since the dataset was indexed");
}

TEST_F(LocalSourceTest, RefusesAFileThatChangesMeanwhile) {
  files_.on_pread = [this] { scratch_.Write("a/x.jpg", "0123"); };
  ExpectError(Request(), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed");
}

// The file is written while it is read, and its time set back. The source gives
// no mix of old and new bytes.
TEST_F(LocalSourceTest, ReadsAFileAgainWhoseRevisionChangesMeanwhile) {
  if (!root_->on_this_host()) GTEST_SKIP() << "a file system of another kind";
  const std::string path = scratch_.Path("a/x.jpg");
  const auto time = std::filesystem::last_write_time(path);
  int changes = 0;
  files_.on_pread = [&] {
    if (files_.preads > changes) return;
    const std::int64_t before = root_->Stat("a/x.jpg")->revision.ctime_nanos;
    // Writes until the file system's clock has ticked.
    while (root_->Stat("a/x.jpg")->revision.ctime_nanos == before) {
      std::fstream(path, std::ios::in | std::ios::out) << "abcdefghij";
      std::filesystem::last_write_time(path, time);
    }
  };
  version_.revision = {};
  changes = 1;
  Revision seen;
  ReadRequest request = Request();
  EXPECT_EQ(*Read(request, &seen), "abcdefghij");
  EXPECT_EQ(files_.preads, 2);
  EXPECT_EQ(seen, root_->Stat("a/x.jpg")->revision);
  files_.preads = 0;
  changes = 1000;
  ExpectError(std::move(request), absl::StatusCode::kUnavailable,
              "is being changed while it is read");
}

TEST_F(LocalSourceTest, TellsWhichRevisionItRead) {
  Revision seen;
  ReadRequest request = Request();
  const Revision now = version_.revision;
  EXPECT_EQ(*Read(request, &seen), "0123456789");
  EXPECT_EQ(seen, now);
  request.unless = now;
  files_.preads = 0;
  EXPECT_EQ(*Read(request), "");
  EXPECT_EQ(files_.preads, 0);
  if (!root_->on_this_host()) GTEST_SKIP() << "a file system of another kind";
  request.version.revision.ctime_nanos -= 1;
  ExpectError(request, absl::StatusCode::kAborted, "was touched since");
  request.version.revision = {now.inode + 1, now.ctime_nanos};
  ExpectError(std::move(request), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed since");
}

TEST_F(LocalSourceTest, FollowsTheRulesOfItsRoot) {
  scratch_.Link("a/out.jpg", "/etc/passwd");
  ExpectError(Request("a/out.jpg"), absl::StatusCode::kPermissionDenied,
              "leads outside the dataset's root");
}

TEST_F(LocalSourceTest, ReadsOnAfterInterruptionsAndShortReads) {
  files_.interruptions = 3;
  files_.longest_pread = 3;
  EXPECT_EQ(*Read(Request()), "0123456789");
  EXPECT_EQ(files_.preads, 3 + 4);
}

TEST_F(LocalSourceTest, ReportsAFileThatEndsEarly) {
  files_.longest_pread = 0;
  ExpectError(Request(), absl::StatusCode::kDataLoss,
              "ends after 0 of 10 bytes");
}

TEST_F(LocalSourceTest, ReportsFaultsThatMayPass) {
  files_.pread_error = EIO;
  ExpectError(Request(), absl::StatusCode::kUnavailable, "Input/output error");
  files_.pread_error = 0;
  files_.stat_error = ESTALE;
  ExpectError(Request(), absl::StatusCode::kUnavailable, "Stale file handle");
  files_.stat_error = 0;
  EXPECT_TRUE(Read(Request()).ok());
}

// Holds the only thread inside the first read until Go.
class LocalSourceQueueTest : public LocalSourceTest {
 protected:
  LocalSourceQueueTest() {
    for (int i = 0; i < 100; ++i) {
      names_.push_back("f" + std::to_string(i));
      std::filesystem::create_hard_link(scratch_.Path("a/x.jpg"),
                                        scratch_.Path(names_.back()));
    }
    version_ = root_->Stat("a/x.jpg")->version();
    files_.on_open = [this](std::string_view path) {
      if (path == "a/x.jpg") {
        entered_.count_down();
        go_.wait();
      } else {
        order_.emplace_back(path);
      }
    };
    Add("a/x.jpg", 0);
    entered_.wait();
  }

  void Add(const std::string& object, std::uint64_t job) {
    ReadRequest request = Request(object);
    request.purpose.job = job;
    request.done = [this](const absl::StatusOr<ReadResult>& result) {
      codes_.push_back(result.status().code());
      ++done_;
    };
    ++added_;
    source_->Read({&request, 1});
  }

  // Lets all reads go, and waits for them.
  void Finish() {
    go_.count_down();
    while (done_ < added_) std::this_thread::yield();
  }

  std::vector<std::string> names_;
  std::vector<std::string> order_;
  std::vector<absl::StatusCode> codes_;
  int added_ = 0;
  std::atomic<int> done_ = 0;
  std::latch entered_{1};
  std::latch go_{1};
};

TEST_F(LocalSourceQueueTest, ReadsInTheOrderAskedFor) {
  Add("f2", 1);
  Add("f0", 2);
  Add("f1", 1);
  EXPECT_EQ(done_, 0);
  Finish();
  EXPECT_EQ(order_, (std::vector<std::string>{"f2", "f0", "f1"}));
}

// Destruction completes the reads in flight first, and then cancels the waiting
// ones.
TEST_F(LocalSourceQueueTest, DestructionCancelsWhatWaits) {
  for (int i = 0; i < 10; ++i) Add(names_[i], 1);
  {
    std::jthread destroyer([this] { source_.reset(); });
    go_.count_down();
  }
  EXPECT_EQ(codes_.size(), 11);
  EXPECT_EQ(codes_.front(), absl::StatusCode::kOk);
  for (std::size_t i = 1; i < codes_.size(); ++i)
    EXPECT_TRUE(codes_[i] == absl::StatusCode::kOk ||
                codes_[i] == absl::StatusCode::kCancelled);
  EXPECT_TRUE(std::is_sorted(codes_.begin(), codes_.end()));
}

// --- Reads that hang.

// Holds the opens of objects whose names begin with "hung" until Release.
class HungFiles {
 public:
  explicit HungFiles(FaultyFiles* files) {
    files->on_open = [this](std::string_view path) {
      if (!path.starts_with("hung")) return;
      ++inside_;
      released_.wait(false);
    };
  }
  ~HungFiles() { Release(); }
  void Release() {
    released_ = true;
    released_.notify_all();
  }
  int inside() const { return inside_; }

 private:
  std::atomic<int> inside_ = 0;
  std::atomic<bool> released_ = false;
};

class HungReadsTest : public LocalSourceTest {
 protected:
  HungReadsTest() {
    for (const char* const name : {"hung/a", "hung/b", "hung/c"})
      scratch_.Write(name, "0123456789");
    source_.emplace(
        LocalSourceOptions{.threads = 1, .most_hung = 2, .files = &files_});
  }
  ~HungReadsTest() override {
    hung_.Release();
    source_.reset();
  }

  // Reads without waiting; counts the good answers.
  void Begin(const std::string& object) {
    ReadRequest request = Request(object);
    request.version = root_->Stat(object)->version();
    request.done = [this](const absl::StatusOr<ReadResult>& result) {
      EXPECT_TRUE(result.ok()) << result.status();
      ++answered_;
    };
    source_->Read({&request, 1});
  }

  HungFiles hung_{&files_};
  std::atomic<int> answered_ = 0;
};

TEST_F(HungReadsTest, AnotherThreadReadsOnBesideOneThatHangs) {
  Begin("hung/a");
  while (hung_.inside() < 1) std::this_thread::yield();
  Begin("a/x.jpg");
  while (answered_ < 1) std::this_thread::yield();
  EXPECT_EQ(hung_.inside(), 1);
  hung_.Release();
  while (answered_ < 2) std::this_thread::yield();
  // The thread that hung, or the one in its place, goes on.
  Begin("a/x.jpg");
  while (answered_ < 3) std::this_thread::yield();
}

TEST_F(HungReadsTest, OnlySoManyThreadsHang) {
  for (const char* const name : {"hung/a", "hung/b", "hung/c"}) Begin(name);
  while (hung_.inside() < 3) std::this_thread::yield();
  Begin("a/x.jpg");
  // Two hang, and the third holds the one thread that may read.
  EXPECT_EQ(answered_, 0);
  hung_.Release();
  while (answered_ < 4) std::this_thread::yield();
}

TEST_F(HungReadsTest, ThreadsAreBegunForReadsAlone) {
  const auto threads = [] {
    int count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(entry.path() / "comm"), name);
      if (name.starts_with("forebay-read")) ++count;
    }
    return count;
  };
  EXPECT_EQ(threads(), 0);
  Begin("a/x.jpg");
  while (answered_ < 1) std::this_thread::yield();
  EXPECT_EQ(threads(), 1);
}

// --- Other file systems.

TEST_F(LocalSourceTest, RefusesWhatLiesOnAnotherFileSystemUntilItIsKnownTo) {
  const ScratchDir elsewhere;
  elsewhere.Write("y.jpg", "0123456789");
  scratch_.Link("b", elsewhere.Path());
  std::vector<ExtraRoot> extra;
  extra.push_back({elsewhere.Open(), elsewhere.Path()});
  const auto root =
      *LocalRoot::Create(scratch_.Open(), scratch_.Path(), std::move(extra));
  source_.emplace(
      LocalSourceOptions{.one_file_system = true, .files = &files_});
  ReadRequest request = Request("b/y.jpg");
  request.root = root;
  request.version = root->Stat("b/y.jpg")->version();
  EXPECT_TRUE(IsWrongDomain(Read(request).status()));
  EXPECT_EQ(root->crossings().Find("b/other.jpg"), Crossings::kUnknownDevice);
  EXPECT_THAT(root->FileSystemOf("b/y.jpg"), testing::StartsWith("beyond "));
  EXPECT_EQ(*Read(request), "0123456789");
  struct stat stat;
  ASSERT_EQ(::stat(elsewhere.Path().c_str(), &stat), 0);
  EXPECT_EQ(root->crossings().Find("b/y.jpg"), stat.st_dev);
  EXPECT_THAT(root->FileSystemOf("b/y.jpg"), testing::StartsWith("mount "));
  EXPECT_EQ(root->crossings().Find("a/x.jpg"), std::nullopt);
}

}  // namespace
}  // namespace forebay::storage::local
