#include "server/daemon/local_reads.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <future>
#include <limits>
#include <string>
#include <thread>

#include "server/base/memory_budget.h"
#include "server/executor/thread_pool_executor.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/ring.h"
#include "tests/unit/server/storage/local/refused_call.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::daemon {
namespace {

using storage::local::LocalRoot;

// Reads a file, and says what was wrong.
absl::Status TryToRead(LocalReads* reads) {
  const storage::local::ScratchDir scratch;
  scratch.Write("a", "0123456789");
  const auto root = *LocalRoot::Create(scratch.Open(), scratch.Path());
  std::promise<absl::Status> status;
  storage::ReadRequest request;
  request.root = root;
  request.object = "a";
  request.version = root->Stat("a")->version();
  request.length = request.version.size;
  request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
    status.set_value(result.status());
  };
  reads->source()->Read({&request, 1});
  return status.get_future().get();
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

}  // namespace
}  // namespace forebay::daemon
