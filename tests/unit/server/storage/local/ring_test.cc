#include "server/storage/local/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/base/fd.h"
#include "tests/unit/server/storage/local/refused_call.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using ::testing::HasSubstr;

// Returns what Probe says if the kernel answers `error_number` to
// `system_call`.
std::string ProbeWhere(int system_call, int error_number) {
  absl::Status status;
  std::thread([&] {
    RefuseSystemCall(system_call, error_number);
    status = Ring::Probe();
  }).join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  return std::string(status.message());
}

TEST(RingProbeTest, SaysWhyNoRingIsMade) {
  EXPECT_EQ(ProbeWhere(SYS_io_uring_setup, EPERM),
            "io_uring is forbidden here, by a container's seccomp filter or "
            "the sysctl kernel.io_uring_disabled");
  EXPECT_EQ(ProbeWhere(SYS_io_uring_setup, ENOSYS),
            "the kernel has no io_uring, or a seccomp filter hides it");
  EXPECT_THAT(ProbeWhere(SYS_io_uring_setup, ENOMEM),
              HasSubstr("RLIMIT_MEMLOCK is too low"));
  EXPECT_THAT(ProbeWhere(SYS_io_uring_setup, EMFILE),
              HasSubstr("Too many open files"));
}

// Probe refuses a ring that may be made but not used.
TEST(RingProbeTest, UsesTheRing) {
  if (!Ring::Probe().ok()) GTEST_SKIP() << Ring::Probe();
  EXPECT_THAT(ProbeWhere(SYS_io_uring_register, EPERM), HasSubstr("io_uring"));
  EXPECT_THAT(ProbeWhere(SYS_io_uring_enter, EPERM),
              HasSubstr("io_uring is forbidden here"));
}

class RingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status status = Ring::Probe(); !status.ok())
      GTEST_SKIP() << status;
    ring_ = *Ring::Create(kEntries);
    ASSERT_TRUE(ring_->Enable().ok());
  }

  // Submits, and waits for so many results.
  std::map<std::uint64_t, int> Results(std::size_t count) {
    std::map<std::uint64_t, int> results;
    while (results.size() < count) {
      ring_->Submit(/*wait=*/true);
      ring_->TakeCompletions(
          [&](std::uint64_t id, int result) { results[id] = result; });
    }
    return results;
  }

  static constexpr unsigned kEntries = 8;
  const ScratchDir scratch_;
  std::unique_ptr<Ring> ring_;
};

TEST_F(RingTest, OpensAndReads) {
  scratch_.Write("a/x", "0123456789");
  const base::Fd root = scratch_.Open();
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH;
  ring_->Open(1, root.get(), "a/x", &how);
  ring_->Open(2, root.get(), "missing", &how);
  ring_->Open(3, root.get(), "../escape", &how);
  const auto opened = Results(3);
  const base::Fd file(opened.at(1));
  ASSERT_TRUE(file);
  EXPECT_EQ(opened.at(2), -ENOENT);
  EXPECT_EQ(opened.at(3), -EXDEV);

  std::string begin(4, '?');
  std::string end(10, '?');
  ring_->Read(4, {file.get()}, begin.data(), begin.size(), 0);
  ring_->Read(5, {file.get()}, end.data(), end.size(), 7);
  ring_->Read(6, {-1}, end.data(), end.size(), 7);
  const auto read = Results(3);
  EXPECT_EQ(read.at(4), 4);
  EXPECT_EQ(begin, "0123");
  EXPECT_EQ(read.at(5), 3);
  EXPECT_EQ(end.substr(0, 3), "789");
  EXPECT_EQ(read.at(6), -EBADF);
}

TEST_F(RingTest, ReadsRegisteredFilesByNumber) {
  if (ring_->ReserveFiles(2) == 0)
    GTEST_SKIP() << "the kernel registers no empty places";
  scratch_.Write("x", "in x");
  scratch_.Write("y", "in y");
  base::Fd x(open(scratch_.Path("x").c_str(), O_RDONLY | O_CLOEXEC));
  base::Fd y(open(scratch_.Path("y").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(ring_->RegisterFile(1, x.get()));
  EXPECT_FALSE(ring_->RegisterFile(2, x.get()));
  x.Close();
  std::string text(4, '?');
  const auto read = [&](int number) {
    ring_->Read(7, {number, /*registered=*/true}, text.data(), text.size(), 0);
    return Results(1).at(7);
  };
  EXPECT_EQ(read(1), 4);
  EXPECT_EQ(text, "in x");
  EXPECT_EQ(read(0), -EBADF);
  ASSERT_TRUE(ring_->RegisterFile(1, y.get()));
  EXPECT_EQ(read(1), 4);
  EXPECT_EQ(text, "in y");
  ring_->UnregisterFile(1);
  EXPECT_EQ(read(1), -EBADF);
}

// A completion may prepare the next read, as often as there is one.
TEST_F(RingTest, GoesOnForLongerThanItHasEntries) {
  scratch_.Write("x", std::string(1000, 'x'));
  const base::Fd file(open(scratch_.Path("x").c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<char> bytes(kEntries);
  std::uint64_t begun = 0;
  int sum = 0;
  const auto read = [&](std::uint64_t slot) {
    ring_->Read(slot, {file.get()}, &bytes[slot], 1, begun++);
  };
  for (std::uint64_t slot = 0; slot < kEntries; ++slot) read(slot);
  while (sum < 1000) {
    ring_->Submit(/*wait=*/true);
    ring_->TakeCompletions([&](std::uint64_t slot, int result) {
      ASSERT_EQ(result, 1);
      ++sum;
      if (begun < 1000) read(slot);
    });
  }
  EXPECT_EQ(begun, 1000);
}

}  // namespace
}  // namespace forebay::storage::local
