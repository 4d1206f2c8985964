#include "server/storage/local/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/unit/server/storage/local/refused_call.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// Returns what Probe says if the kernel answers `error_number` to
// `system_call`.
std::string ProbeWhere(int system_call, int error_number) {
  absl::Status status;
  std::thread([&] {
    RefuseSystemCall(system_call, error_number);
    status = Ring::Probe();
  }).join();
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnavailable));
  return std::string(status.message());
}

TEST_CASE("The io_uring probe says why no ring is made", "[local][ring]") {
  CHECK(ProbeWhere(SYS_io_uring_setup, EPERM) ==
        "io_uring is forbidden here, by a container's seccomp filter or "
        "the sysctl kernel.io_uring_disabled");
  CHECK(ProbeWhere(SYS_io_uring_setup, ENOSYS) ==
        "the kernel has no io_uring, or a seccomp filter hides it");
  CHECK_THAT(ProbeWhere(SYS_io_uring_setup, ENOMEM),
             Contains("RLIMIT_MEMLOCK is too low"));
  CHECK_THAT(ProbeWhere(SYS_io_uring_setup, EMFILE),
             Contains("Too many open files"));
}

// Probe() refuses a ring that can be created but not used.
TEST_CASE("The io_uring probe uses the ring that it makes", "[local][ring]") {
  if (!Ring::Probe().ok()) SKIP(Ring::Probe());
  CHECK_THAT(ProbeWhere(SYS_io_uring_register, EPERM), Contains("io_uring"));
  CHECK_THAT(ProbeWhere(SYS_io_uring_enter, EPERM),
             Contains("io_uring is forbidden here"));
}

class RingTest {
 protected:
  RingTest() {
    if (const absl::Status status = Ring::Probe(); !status.ok()) SKIP(status);
    ring_ = *Ring::Create(kEntries);
    REQUIRE_THAT(ring_->Enable(), IsOk());
  }

  // Submits reads, and waits for `count` results, which it returns by the
  // reads' numbers.
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

TEST_CASE_METHOD(RingTest, "An io_uring ring opens and reads files",
                 "[local][ring]") {
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
  REQUIRE(file);
  CHECK(opened.at(2) == -ENOENT);
  CHECK(opened.at(3) == -EXDEV);

  std::string begin(4, '?');
  std::string end(10, '?');
  ring_->Read(4, {file.get()}, begin.data(), begin.size(), 0);
  ring_->Read(5, {file.get()}, end.data(), end.size(), 7);
  ring_->Read(6, {-1}, end.data(), end.size(), 7);
  const auto read = Results(3);
  CHECK(read.at(4) == 4);
  CHECK(begin == "0123");
  CHECK(read.at(5) == 3);
  CHECK(end.substr(0, 3) == "789");
  CHECK(read.at(6) == -EBADF);
}

TEST_CASE_METHOD(RingTest, "An io_uring ring reads registered files by number",
                 "[local][ring]") {
  if (ring_->ReserveFiles(2) == 0) SKIP("the kernel registers no empty places");
  scratch_.Write("x", "in x");
  scratch_.Write("y", "in y");
  base::Fd x(open(scratch_.Path("x").c_str(), O_RDONLY | O_CLOEXEC));
  base::Fd y(open(scratch_.Path("y").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(ring_->RegisterFile(1, x.get()));
  CHECK_FALSE(ring_->RegisterFile(2, x.get()));
  x.Close();
  std::string text(4, '?');
  const auto read = [&](int number) {
    ring_->Read(7, {number, /*registered=*/true}, text.data(), text.size(), 0);
    return Results(1).at(7);
  };
  CHECK(read(1) == 4);
  CHECK(text == "in x");
  CHECK(read(0) == -EBADF);
  REQUIRE(ring_->RegisterFile(1, y.get()));
  CHECK(read(1) == 4);
  CHECK(text == "in y");
  ring_->UnregisterFile(1);
  CHECK(read(1) == -EBADF);
}

// A completion may prepare the next read, again and again.
TEST_CASE_METHOD(RingTest,
                 "An io_uring ring goes on for more reads than it has entries",
                 "[local][ring]") {
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
      CHECK(result == 1);
      ++sum;
      if (begun < 1000) read(slot);
    });
  }
  CHECK(begun == 1000);
}

}  // namespace
}  // namespace forebay::storage::local
