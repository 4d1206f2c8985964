#include "server/daemon/local_reads.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <future>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/executor/thread_pool_executor.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/ring.h"
#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/storage/local/refused_call.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::daemon {
namespace {

using storage::local::LocalRoot;

using storage::local::ScratchDir;

// Reads the file, and says what was wrong.
absl::Status TryToRead(LocalReads* reads,
                       const std::shared_ptr<const LocalRoot>& root,
                       const std::string& object) {
  std::promise<absl::Status> status;
  storage::ReadRequest request;
  request.root = root;
  request.object = object;
  request.version = root->Stat(object)->version();
  request.length = request.version.size;
  request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
    status.set_value(result.status());
  };
  reads->source()->Read({&request, 1});
  return status.get_future().get();
}

absl::Status TryToRead(LocalReads* reads) {
  const ScratchDir scratch;
  scratch.Write("a", "0123456789");
  return TryToRead(reads, *LocalRoot::Create(scratch.Open(), scratch.Path()),
                   "a");
}

TEST(LocalReadsTest, ReadsThroughARingWhereThereIsOne) {
  const absl::Status probe = storage::local::Ring::Probe();
  if (!probe.ok()) GTEST_SKIP() << probe;
  storage::AllJobShares shares;
  executor::ThreadPoolExecutor executor(1);
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  LocalReads reads(proto::StorageConfig::default_instance(), &executor, &budget,
                   &shares);
  EXPECT_TRUE(reads.io_uring());
  EXPECT_EQ(reads.refusal(), "");
  EXPECT_TRUE(TryToRead(&reads).ok());
}

TEST(LocalReadsTest, ReadsByThreadsWhereToldSo) {
  proto::StorageConfig config;
  config.set_io_uring("off");
  storage::AllJobShares shares;
  executor::ThreadPoolExecutor executor(1);
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  LocalReads reads(config, &executor, &budget, &shares);
  EXPECT_FALSE(reads.io_uring());
  EXPECT_EQ(reads.refusal(), "");
  EXPECT_TRUE(TryToRead(&reads).ok());
}

TEST(LocalReadsTest, SaysWhyThereIsNoRing) {
  std::thread([] {
    storage::local::RefuseSystemCall(SYS_io_uring_setup, EPERM);
    proto::StorageConfig config;
    config.set_io_uring("auto");
    storage::AllJobShares shares;
    executor::ThreadPoolExecutor executor(1);
    base::MemoryBudget budget(std::uint64_t{1} << 30);
    LocalReads reads(config, &executor, &budget, &shares);
    EXPECT_FALSE(reads.io_uring());
    EXPECT_THAT(reads.refusal(),
                testing::StartsWith("io_uring is forbidden here"));
    EXPECT_TRUE(TryToRead(&reads).ok());
  }).join();
}

TEST(LocalReadsTest, CapsHoldUpItsReads) {
  for (const char* io_uring : {"auto", "off"}) {
    proto::StorageConfig config;
    config.set_io_uring(io_uring);
    storage::AllJobShares shares;
    executor::ThreadPoolExecutor executor(1);
    base::MemoryBudget budget(std::uint64_t{1} << 30);
    LocalReads reads(config, &executor, &budget, &shares);
    shares.SetCap(/*job=*/0, 1e-3);  // bytes a second, after a burst of a read
    EXPECT_TRUE(TryToRead(&reads).ok());
    std::thread held([&reads] { EXPECT_TRUE(TryToRead(&reads).ok()); });
    while (reads.state().waiting == 0) std::this_thread::yield();
    EXPECT_EQ(reads.state().in_flight, 0);
    shares.SetCap(/*job=*/0, std::numeric_limits<double>::infinity());
    held.join();
    EXPECT_EQ(reads.state().waiting, 0);
  }
}

TEST(LocalReadsTest, FollowsLinksToOtherFolders) {
  const ScratchDir elsewhere;
  elsewhere.Write("a", "0123456789");
  const ScratchDir scratch;
  scratch.Link("b", elsewhere.Path());
  for (const char* io_uring : {"auto", "off"}) {
    proto::StorageConfig config;
    config.set_io_uring(io_uring);
    storage::AllJobShares shares;
    executor::ThreadPoolExecutor executor(1);
    base::MemoryBudget budget(std::uint64_t{1} << 30);
    LocalReads reads(config, &executor, &budget, &shares);
    std::vector<storage::local::ExtraRoot> extra;
    extra.push_back({elsewhere.Open(), elsewhere.Path()});
    const auto root =
        *LocalRoot::Create(scratch.Open(), scratch.Path(), std::move(extra));
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = TryToRead(&reads, root, "b/a");
      EXPECT_TRUE(status.ok()) << status;
    }
    EXPECT_TRUE(root->crossings().Contains("b/a"));
  }
}

TEST(LocalReadsTest, RefusesReadsThatCanHaveNoThread) {
  for (const char* io_uring : {"auto", "off"}) {
    proto::StorageConfig config;
    config.set_io_uring(io_uring);
    storage::AllJobShares shares;
    executor::ThreadPoolExecutor executor(1);
    base::MemoryBudget budget(std::uint64_t{1} << 30);
    LocalReads reads(config, &executor, &budget, &shares);
    {
      const base::NoThreads refused;
      EXPECT_EQ(TryToRead(&reads),
                absl::UnavailableError("a: is not read: the system gives the "
                                       "daemon no threads"));
    }
    EXPECT_TRUE(TryToRead(&reads).ok());
  }
}

}  // namespace
}  // namespace forebay::daemon
