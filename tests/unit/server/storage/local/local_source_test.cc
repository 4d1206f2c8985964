#include "server/storage/local/local_source.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/domain_source.h"
#include "server/storage/local/crossings.h"
#include "server/storage/local/local_root.h"
#include "server/storage/shared_out_source.h"
#include "server/storage/source_state.h"
#include "server/storage/wrong_domain.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/local/local_source_fixture.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// A LocalSource that shares nothing out.
class UnscheduledSource final : public SharedOutSource {
 public:
  explicit UnscheduledSource(const LocalSourceOptions& options)
      : source_(options) {}
  void Read(absl::Span<ReadRequest> requests) override {
    source_.Read(requests);
  }
  SourceState State() const override { return {}; }

 private:
  LocalSource source_;
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

// --- Other file systems.

// A root with a link to a directory of another root.
class CrossingTest : public LocalSourceTest {
 protected:
  CrossingTest() {
    elsewhere_.Write("y.jpg", "0123456789");
    scratch_.Link("b", elsewhere_.Path());
    std::vector<ExtraRoot> extra;
    extra.push_back({elsewhere_.Open(), elsewhere_.Path()});
    linked_ =
        *LocalRoot::Create(scratch_.Open(), scratch_.Path(), std::move(extra));
  }

  ReadRequest LinkedRequest() {
    ReadRequest request = Request("b/y.jpg");
    request.root = linked_;
    request.version = linked_->Stat("b/y.jpg")->version();
    return request;
  }

  const ScratchDir elsewhere_;
  std::shared_ptr<const LocalRoot> linked_;
};

// Reads that are queued already must not follow a link that is known by now.
TEST_F(CrossingTest, ASourceOfOneFileSystemNeverLeavesIt) {
  source_.emplace(
      LocalSourceOptions{.one_file_system = true, .files = &files_});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(IsWrongDomain(Read(LinkedRequest()).status()));
    EXPECT_TRUE(linked_->crossings().Contains("b/other.jpg"));
    EXPECT_THAT(linked_->FileSystemOf("b/y.jpg"),
                StartsWith(std::string(LocalRoot::kBeyond)));
  }
  EXPECT_EQ(files_.follows, 0);
  EXPECT_FALSE(linked_->crossings().Contains("a/x.jpg"));
}

TEST_F(CrossingTest, ASourceOfCrossingsOpensThem) {
  const ReadRequest request = LinkedRequest();
  static_cast<void>(linked_->Crossed(request.object));
  EXPECT_EQ(*Read(request), "0123456789");
}

TEST_F(CrossingTest, ReadsThatCrossAreMadeAgainByTheSourceOfCrossings) {
  std::vector<std::string> domains;
  DomainSource source(
      {.domain_of =
           [this](const ReadRequest& request) {
             return linked_->FileSystemOf(request.object);
           },
       .make =
           [&](const std::string& domain) {
             domains.push_back(domain);
             return std::make_unique<UnscheduledSource>(LocalSourceOptions{
                 .one_file_system = !domain.starts_with(LocalRoot::kBeyond)});
           },
       .objects_move = true});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(*ReadText(source, LinkedRequest()), "0123456789");
  EXPECT_THAT(domains,
              ElementsAre(StartsWith(std::string(LocalRoot::kDisk)),
                          StartsWith(std::string(LocalRoot::kBeyond))));
}

}  // namespace
}  // namespace forebay::storage::local
