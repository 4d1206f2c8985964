#include "server/storage/local/uring_source.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/fd.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/ring.h"
#include "tests/unit/server/storage/local/refused_call.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using ::testing::HasSubstr;

std::string RandomText(std::size_t length, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(length, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

// A system call that the kernel refuses to the source's threads, and how.
struct Refusal {
  int system_call;
  int error_number;
};

class UringSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status status = Ring::Probe(); !status.ok())
      GTEST_SKIP() << status;
    scratch_.Write("a/x.jpg", "0123456789");
    root_ = *LocalRoot::Create(scratch_.Open(), scratch_.Path());
    if (!ReadsWithoutWaiting())
      GTEST_SKIP() << scratch_.Path() << ": read by threads anyway";
    Start();
  }

  bool ReadsWithoutWaiting() const {
    const base::Fd file(*root_->Open("a/x.jpg"));
    char byte = 0;
    const iovec part = {&byte, 1};
    return root_->on_this_host() &&
           (preadv2(file.get(), &part, 1, 0, RWF_NOWAIT) >= 0 ||
            errno == EAGAIN);
  }

  // As if nothing fitted into the page cache.
  static std::uint64_t NoRoom() { return 0; }

  // Makes the source anew.
  void Start(const std::vector<Refusal>& refusals = {},
             const UringSourceOptions& options = {}) {
    source_.reset();
    std::thread([&] {
      for (const Refusal& refusal : refusals)
        RefuseSystemCall(refusal.system_call, refusal.error_number);
      auto source = UringSource::Create(options);
      ASSERT_TRUE(source.ok()) << source.status();
      source_ = *std::move(source);
    }).join();
  }

  ReadRequest Request(const std::string& object = "a/x.jpg") {
    ReadRequest request;
    request.root = root_;
    request.object = object;
    if (const auto stat = root_->Stat(object); stat.ok())
      request.version = stat->version();
    request.length = request.version.size;
    return request;
  }

  absl::StatusOr<std::string> Read(ReadRequest request) {
    std::latch done(1);
    absl::StatusOr<std::string> result;
    request.done = [&](absl::StatusOr<base::Bytes> bytes) {
      if (bytes.ok())
        result.emplace(bytes->span().begin(), bytes->span().end());
      else
        result = bytes.status();
      done.count_down();
    };
    source_->Read({&request, 1});
    done.wait();
    return result;
  }

  void ExpectError(ReadRequest request, absl::StatusCode code,
                   const std::string& reason) {
    const std::string object = request.object;
    const absl::Status status = Read(std::move(request)).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(std::string(status.message()), object + ": " + reason);
  }

  // Has the page cache let go of files, and reads them all.
  void ReadManyColdFiles() {
    constexpr int kFiles = 50;
    if (contents_.empty()) WriteFiles(kFiles);
    for (int i = 0; i < kFiles; ++i) {
      const base::Fd file(
          open(scratch_.Path(ColdName(i)).c_str(), O_RDONLY | O_CLOEXEC));
      ASSERT_EQ(posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    }
    std::latch done(kFiles);
    std::vector<ReadRequest> requests;
    for (int i = 0; i < kFiles; ++i) {
      requests.push_back(Request(ColdName(i)));
      // Some ranges too, that begin and end anywhere.
      if (i % 3 == 1) {
        requests.back().offset = 5001;
        requests.back().length -= 5101;
      }
      requests.back().done = [&, i](absl::StatusOr<base::Bytes> bytes) {
        EXPECT_TRUE(bytes.ok()) << bytes.status();
        if (bytes.ok()) {
          const std::string text(bytes->span().begin(), bytes->span().end());
          // Not EXPECT_EQ: nobody wants to see them.
          EXPECT_TRUE(text == (i % 3 == 1
                                   ? contents_[i].substr(
                                         5001, contents_[i].size() - 5101)
                                   : contents_[i]))
              << i;
        }
        done.count_down();
      };
    }
    source_->Read(absl::MakeSpan(requests));
    done.wait();
    EXPECT_EQ(source_->queued(), 0);
    EXPECT_EQ(source_->in_flight(), 0);
  }

  const ScratchDir scratch_;
  std::shared_ptr<const LocalRoot> root_;
  std::unique_ptr<UringSource> source_;

 private:
  static std::string ColdName(int number) {
    return "cold/" + std::to_string(number);
  }
  void WriteFiles(int count) {
    for (int i = 0; i < count; ++i) {
      contents_.push_back(RandomText(10'007 * i, i));
      scratch_.Write(ColdName(i), contents_.back());
    }
    // The page cache lets go only of what is on the disk.
    const base::Fd folder(open(scratch_.Path().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(syncfs(folder.get()), 0);
  }

  std::vector<std::string> contents_;
};

TEST_F(UringSourceTest, ReadsWhatTheCachesHold) {
  EXPECT_EQ(*Read(Request()), "0123456789");
  EXPECT_GT(source_->cpu_nanos(), 0);
}

TEST_F(UringSourceTest, ReadsColdFiles) { ReadManyColdFiles(); }

TEST_F(UringSourceTest, ReadsColdFilesOneAtATime) {
  Start({}, {.depth = 1, .pool = {}});
  ReadManyColdFiles();
}

// As where the kernel's caches hold nothing, names included.
TEST_F(UringSourceTest, WaitsInTheRing) {
  Start({{SYS_openat2, EAGAIN}, {SYS_preadv2, EAGAIN}});
  ReadManyColdFiles();
  EXPECT_EQ(*Read(Request()), "0123456789");
  ExpectError(Request("missing.jpg"), absl::StatusCode::kNotFound,
              "there is no such file or directory");
  ExpectError(Request("a/x.jpg/y"), absl::StatusCode::kNotFound,
              "a part of this path is not a directory");
}

// Read past the page cache from some point on, on a file system that can.
TEST_F(UringSourceTest, ReadsFilesThatAreNeverInTheCache) {
  // All of it pinned, a part, and nothing.
  for (const std::size_t pinned : {8 << 20, 1 << 20, 0}) {
    Start({}, {.page_cache_room = NoRoom, .pinned_bytes = pinned, .pool = {}});
    for (int i = 0; i < 5; ++i) ReadManyColdFiles();
  }
  // What was just written is read as it was written.
  scratch_.Write("new", std::string(100'000, 'n'));
  EXPECT_EQ(*Read(Request("new")), std::string(100'000, 'n'));
}

// As of shards: files that stay open.
TEST_F(UringSourceTest, ReadsFilesInParts) {
  Start({}, {.page_cache_room = NoRoom, .pool = {}});
  const std::string content = RandomText(1 << 20, 5);
  scratch_.Write("shard", content);
  const ReadRequest whole = Request("shard");
  std::mt19937 random(6);
  for (int i = 0; i < 300; ++i) {
    ReadRequest part = Request("shard");
    part.offset = random() % (content.size() - 40'000);
    part.length = 16'384 + random() % 20'000;
    EXPECT_TRUE(*Read(part) == content.substr(part.offset, part.length)) << i;
    // Small ones go another way.
    part.length = 100;
    EXPECT_EQ(*Read(part), content.substr(part.offset, 100));
  }
  // Written in place: not the version asked for any more.
  scratch_.Write("shard", content + "more");
  ReadRequest part = whole;
  part.length = 20'000;
  EXPECT_EQ(Read(part).status().code(), absl::StatusCode::kFailedPrecondition);
  // Replaced: the name stands for another file, which is read.
  const std::string other = RandomText(1 << 20, 7);
  scratch_.Write("other", other);
  std::filesystem::rename(scratch_.Path("other"), scratch_.Path("shard"));
  EXPECT_EQ(Read(part).status().code(), absl::StatusCode::kFailedPrecondition);
  part = Request("shard");
  part.length = 20'000;
  EXPECT_TRUE(*Read(part) == other.substr(0, 20'000));
  std::filesystem::remove(scratch_.Path("shard"));
  EXPECT_EQ(Read(part).status().code(), absl::StatusCode::kNotFound);
}

// As where a container's seccomp filter knows no preadv2.
TEST_F(UringSourceTest, NeedsNoPreadv2) {
  Start({{SYS_preadv2, EPERM}});
  ReadManyColdFiles();
}

// As of file systems that cannot tell whether a read would wait.
TEST_F(UringSourceTest, LeavesToThreadsWhatRingsDoBadly) {
  Start({{SYS_preadv2, EOPNOTSUPP}});
  ReadManyColdFiles();
}

TEST_F(UringSourceTest, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo(scratch_.Path("a/fifo.jpg").c_str(), 0600), 0);
  ExpectError(Request("a/fifo.jpg"), absl::StatusCode::kInvalidArgument,
              "is a FIFO, not a regular file");
  ExpectError(Request("a"), absl::StatusCode::kInvalidArgument,
              "is a directory, not a regular file");
}

TEST_F(UringSourceTest, RefusesAPathWithAZeroByte) {
  ReadRequest request = Request();
  request.object += '\0';
  request.object += "y";
  ExpectError(std::move(request), absl::StatusCode::kInvalidArgument,
              "a path cannot hold a zero byte");
}

TEST_F(UringSourceTest, RefusesAFileThatHasChanged) {
  ReadRequest request = Request();
  scratch_.Write("a/x.jpg", "0123456789+");
  ExpectError(std::move(request), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed since the dataset was indexed");
}

TEST_F(UringSourceTest, SaysThatAFileWasDeleted) {
  ReadRequest request = Request();
  std::filesystem::remove(scratch_.Path("a/x.jpg"));
  ExpectError(std::move(request), absl::StatusCode::kNotFound,
              "there is no such file or directory");
}

TEST_F(UringSourceTest, FollowsTheRulesOfItsRoot) {
  scratch_.Link("a/out.jpg", "/etc/passwd");
  ExpectError(Request("a/out.jpg"), absl::StatusCode::kPermissionDenied,
              "the link leads outside the dataset's root to /etc/passwd; "
              "declare extra_roots=[...] to allow it");
  scratch_.Link("a/in.jpg", "x.jpg");
  EXPECT_EQ(*Read(Request("a/in.jpg")), "0123456789");
  // Out, and back by the root's own path.
  scratch_.Link("a/back.jpg", scratch_.Path("a/x.jpg"));
  EXPECT_EQ(*Read(Request("a/back.jpg")), "0123456789");
  scratch_.Link("a/loop.jpg", "loop.jpg");
  ExpectError(Request("a/loop.jpg"), absl::StatusCode::kInvalidArgument,
              "too many links lead to one another");
}

TEST_F(UringSourceTest, ReportsAFileThatEndsEarly) {
  Start({{SYS_preadv2, 0}});  // nothing more to read
  ExpectError(Request(), absl::StatusCode::kDataLoss,
              "ends after 0 of 10 bytes");
}

TEST_F(UringSourceTest, ReportsFaultsThatMayPass) {
  Start({{SYS_fstat, ESTALE}, {SYS_newfstatat, ESTALE}});
  ExpectError(Request(), absl::StatusCode::kUnavailable, "Stale file handle");
}

TEST_F(UringSourceTest, LeavesFileSystemsOfOtherKindsToThreads) {
  root_ = *LocalRoot::Create(base::Fd(open("/sys/devices/system/cpu", O_PATH)),
                             "/sys/devices/system/cpu");
  EXPECT_FALSE(root_->on_this_host());
  const base::Fd kept(*root_->Open("online"));
  // What sysfs says of sizes is a page, whatever a file holds.
  ASSERT_EQ(Request("online").version.size, 4096);
  const absl::Status status = Read(Request("online")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(
      std::string(status.message()),
      ::testing::MatchesRegex("online: ends after [1-9][0-9]* of 4096 bytes"));
}

TEST_F(UringSourceTest, IsNotMadeWhereThereIsNoIoUring) {
  absl::Status status;
  std::thread([&] {
    RefuseSystemCall(SYS_io_uring_setup, EPERM);
    status = UringSource::Create({}).status();
  }).join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("io_uring is forbidden here"));
}

// Holds the ring's thread after the first read until Finish.
class UringSourceQueueTest : public UringSourceTest {
 protected:
  void SetUp() override {
    UringSourceTest::SetUp();
    if (IsSkipped()) return;
    for (int i = 0; i < 100; ++i) {
      names_.push_back("f" + std::to_string(i));
      std::filesystem::create_hard_link(scratch_.Path("a/x.jpg"),
                                        scratch_.Path(names_.back()));
    }
    ReadRequest request = Request();
    request.done = [this](const absl::StatusOr<base::Bytes>& bytes) {
      codes_.push_back(bytes.status().code());
      entered_.count_down();
      go_.wait();
      ++done_;
    };
    ++added_;
    source_->Read({&request, 1});
    entered_.wait();
  }

  void Add(const std::string& object, std::uint64_t job,
           std::uint64_t urgency) {
    ReadRequest request = Request(object);
    request.purpose.job = job;
    request.purpose.urgency = urgency;
    request.done = [this, object](const absl::StatusOr<base::Bytes>& bytes) {
      order_.push_back(object);
      codes_.push_back(bytes.status().code());
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

TEST_F(UringSourceQueueTest, ReadsTheMostUrgentFirst) {
  Add("f2", 1, 2);
  Add("f3", 1, 2);
  Add("f0", 1, 0);
  Add("f1", 1, 1);
  EXPECT_EQ(source_->queued(), 4);
  Finish();
  EXPECT_EQ(order_, (std::vector<std::string>{"f0", "f1", "f2", "f3"}));
}

TEST_F(UringSourceQueueTest, JobsShareByWeight) {
  source_->SetWeight(2, 3);
  for (int i = 0; i < 40; ++i) {
    Add(names_[i], 1, 0);
    Add(names_[50 + i], 2, 0);
  }
  Finish();
  int second = 0;
  for (int i = 0; i < 40; ++i) second += std::stoi(order_[i].substr(1)) >= 50;
  EXPECT_NEAR(second, 30, 2);
}

// What is under way is completed, what waits is cancelled, in this order.
TEST_F(UringSourceQueueTest, DestructionCancelsWhatWaits) {
  for (int i = 0; i < 10; ++i) Add(names_[i], 1, 0);
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

}  // namespace
}  // namespace forebay::storage::local
