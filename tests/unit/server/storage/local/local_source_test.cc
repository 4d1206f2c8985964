#include "server/storage/local/local_source.h"

#include <errno.h>
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
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/local/local_source_fixture.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using tests::ElementsAre;
using tests::IsOk;
using tests::StartsWith;

// A LocalSource without shares for jobs.
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

TEST_CASE_METHOD(LocalSourceTest,
                 "The local source refuses what is not a regular file",
                 "[local][local_source]") {
  REQUIRE(mkfifo(scratch_.Path("a/fifo.jpg").c_str(), 0600) == 0);
  ExpectError(Request("a/fifo.jpg"), absl::StatusCode::kInvalidArgument,
              "is a FIFO, not a regular file");
  ExpectError(Request("a"), absl::StatusCode::kInvalidArgument,
              "is a directory, not a regular file");
  CHECK(files_.preads == 0);
}

TEST_CASE_METHOD(LocalSourceTest,
                 "The local source refuses a file that has changed",
                 "[local][local_source]") {
  scratch_.Write("a/x.jpg", "0123456789+");
  ExpectError(Request(), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed since the dataset was indexed");
}

TEST_CASE_METHOD(
    LocalSourceTest,
    "The local source refuses a file that changes while it is read",
    "[local][local_source]") {
  files_.on_pread = [this] { scratch_.Write("a/x.jpg", "0123"); };
  ExpectError(Request(), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed");
}

// The file is written while it is read, and its modification time is restored.
// The source does not mix old and new bytes.
TEST_CASE_METHOD(
    LocalSourceTest,
    "The local source reads a file again whose revision changes meanwhile",
    "[local][local_source]") {
  if (!root_->on_this_host()) SKIP("a file system of another kind");
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
  CHECK(*Read(request, &seen) == "abcdefghij");
  CHECK(files_.preads == 2);
  CHECK(seen == root_->Stat("a/x.jpg")->revision);
  files_.preads = 0;
  changes = 1000;
  ExpectError(std::move(request), absl::StatusCode::kUnavailable,
              "is being changed while it is read");
}

TEST_CASE_METHOD(LocalSourceTest,
                 "The local source tells which revision it read",
                 "[local][local_source]") {
  Revision seen;
  ReadRequest request = Request();
  const Revision now = version_.revision;
  CHECK(*Read(request, &seen) == "0123456789");
  CHECK(seen == now);
  request.unless = now;
  files_.preads = 0;
  CHECK_THAT(*Read(request), Catch::Equals(""));
  CHECK(files_.preads == 0);
  if (!root_->on_this_host()) SKIP("a file system of another kind");
  request.version.revision.ctime_nanos -= 1;
  ExpectError(request, absl::StatusCode::kAborted, "was touched since");
  request.version.revision = {now.inode + 1, now.ctime_nanos};
  ExpectError(std::move(request), absl::StatusCode::kFailedPrecondition,
              "was replaced or changed since");
}

TEST_CASE_METHOD(LocalSourceTest,
                 "The local source follows the rules of its root",
                 "[local][local_source]") {
  scratch_.Link("a/out.jpg", "/etc/passwd");
  ExpectError(Request("a/out.jpg"), absl::StatusCode::kPermissionDenied,
              "leads outside the dataset's root");
}

TEST_CASE_METHOD(
    LocalSourceTest,
    "The local source reads on after interruptions and short reads",
    "[local][local_source]") {
  files_.interruptions = 3;
  files_.longest_pread = 3;
  CHECK(*Read(Request()) == "0123456789");
  CHECK(files_.preads == 3 + 4);
}

TEST_CASE_METHOD(LocalSourceTest,
                 "The local source reports a file that ends early",
                 "[local][local_source]") {
  files_.longest_pread = 0;
  ExpectError(Request(), absl::StatusCode::kDataLoss,
              "ends after 0 of 10 bytes");
}

TEST_CASE_METHOD(LocalSourceTest,
                 "The local source reports faults that may pass",
                 "[local][local_source]") {
  files_.pread_error = EIO;
  ExpectError(Request(), absl::StatusCode::kUnavailable, "Input/output error");
  files_.pread_error = 0;
  files_.stat_error = ESTALE;
  ExpectError(Request(), absl::StatusCode::kUnavailable, "Stale file handle");
  files_.stat_error = 0;
  CHECK_THAT(Read(Request()), IsOk());
}

// A source whose only thread is held inside the first read until Finish().
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

  // Lets all reads continue, and waits for them.
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

TEST_CASE_METHOD(LocalSourceQueueTest,
                 "The local source reads in the order asked for",
                 "[local][local_source]") {
  Add("f2", 1);
  Add("f0", 2);
  Add("f1", 1);
  CHECK(done_ == 0);
  Finish();
  CHECK(order_ == std::vector<std::string>{"f2", "f0", "f1"});
}

// Destruction completes the reads in flight first, and then cancels the waiting
// ones.
TEST_CASE_METHOD(LocalSourceQueueTest,
                 "Destruction of the local source cancels what waits",
                 "[local][local_source]") {
  for (int i = 0; i < 10; ++i) Add(names_[i], 1);
  {
    std::jthread destroyer([this] { source_.reset(); });
    go_.count_down();
  }
  CHECK(codes_.size() == 11);
  CHECK(codes_.front() == absl::StatusCode::kOk);
  for (std::size_t i = 1; i < codes_.size(); ++i)
    CHECK((codes_[i] == absl::StatusCode::kOk ||
           codes_[i] == absl::StatusCode::kCancelled));
  CHECK(std::is_sorted(codes_.begin(), codes_.end()));
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

// Queued reads must not follow a link, either, once the link is known.
TEST_CASE_METHOD(CrossingTest,
                 "A local source of one file system never leaves it",
                 "[local][local_source]") {
  source_.emplace(
      LocalSourceOptions{.one_file_system = true, .files = &files_});
  for (int i = 0; i < 2; ++i) {
    CHECK(IsWrongDomain(Read(LinkedRequest()).status()));
    CHECK(linked_->crossings().Contains("b/other.jpg"));
    CHECK_THAT(linked_->FileSystemOf("b/y.jpg"),
               StartsWith(std::string(LocalRoot::kBeyond)));
  }
  CHECK(files_.follows == 0);
  CHECK_FALSE(linked_->crossings().Contains("a/x.jpg"));
}

TEST_CASE_METHOD(
    CrossingTest,
    "A local source of crossings opens files on other file systems",
    "[local][local_source]") {
  const ReadRequest request = LinkedRequest();
  static_cast<void>(linked_->Crossed(request.object));
  CHECK(*Read(request) == "0123456789");
}

TEST_CASE_METHOD(
    CrossingTest,
    "Reads that cross file systems are made again by the source of crossings",
    "[local][local_source]") {
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
    CHECK(*ReadText(source, LinkedRequest()) == "0123456789");
  CHECK_THAT(domains, ElementsAre(StartsWith(std::string(LocalRoot::kDisk)),
                                  StartsWith(std::string(LocalRoot::kBeyond))));
}

}  // namespace
}  // namespace forebay::storage::local
