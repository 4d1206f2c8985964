// Kills a process that writes a tier at random times, again and again. The tier
// that is opened next returns right bytes or none, and its files stay within
// the capacity.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <latch>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/cache/disk/disk_cache.h"
#include "server/cache/disk/segment_format.h"
#include "server/cache/disk/volume.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/crash/disk_cache/generated_source.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::cache::disk {
namespace {

using tests::IsOk;

constexpr int kRounds = 25;

// Runs the writer until it has made `reads` reads, and kills it.
void RunAndKill(const std::string& path, std::uint64_t seed,
                std::uint64_t reads) {
  std::array<int, 2> ends;
  REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
  const base::Fd from(ends[0]);
  base::Fd to(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  std::string program = "tests/crash/disk_cache/writer";
  std::string directory = path;
  std::string number = std::to_string(seed);
  std::array<char*, 4> arguments = {program.data(), directory.data(),
                                    number.data(), nullptr};
  pid_t writer = 0;
  const int error = posix_spawn(&writer, program.c_str(), &actions, nullptr,
                                arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(error == 0);
  to.Close();
  std::array<char, 512> told;
  for (std::uint64_t left = reads; left > 0;) {
    const ssize_t got = read(from.get(), told.data(),
                             std::min<std::uint64_t>(told.size(), left));
    if (got <= 0) break;
    left -= got;
  }
  CHECK(kill(writer, SIGKILL) == 0);
  int status = 0;
  CHECK(waitpid(writer, &status, 0) == writer);
  CAPTURE(status);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

std::uint64_t SegmentBytesIn(const std::string& path) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (SerialOf(entry.path().filename().string()).has_value()) {
      bytes += entry.file_size();
    }
  }
  return bytes;
}

// Opens the tier and reads all objects. Returns how many of them the tier had.
std::uint64_t ReadAll(const std::string& path) {
  GeneratedSource below;
  const NoNextUse next_use;
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  auto cache = DiskCache::Create(
      {.store = {.capacity = kKilledCapacity, .segment_bytes = kKilledSegment},
       .read_threads = 2},
      *CacheDirectory::Lock(path),
      {.below = &below,
       .budget = &budget,
       .next_use = &next_use,
       .clock = base::Clock::Monotonic()});
  CHECK_THAT(cache, IsOk());
  if (!cache.ok()) return 0;
  constexpr std::uint64_t kAll = kGeneratedObjects * kGeneratedStamps;
  std::latch done(kAll);
  std::atomic<int> wrong = 0;
  for (std::uint64_t i = 0; i < kAll; ++i) {
    const std::uint64_t object = i / kGeneratedStamps;
    const auto stamp = static_cast<std::int64_t>(i % kGeneratedStamps);
    auto request = GeneratedRequest(object, stamp);
    request.purpose.next_use_nanos = INT64_MAX;  // evicts nothing
    request.done = [&, object,
                    stamp](const absl::StatusOr<storage::ReadResult>& result) {
      const std::string truth = GeneratedContent(object, stamp);
      if (!result.ok() || result->bytes.size() != truth.size() ||
          std::memcmp(result->bytes.data(), truth.data(), truth.size()) != 0) {
        ++wrong;
      }
      done.count_down();
    };
    (*cache)->Read({&request, 1});
  }
  done.wait();
  CHECK(wrong == 0);
  CHECK((*cache)->Snapshot().hits.reads + below.reads() == kAll);
  return (*cache)->Snapshot().hits.reads;
}

TEST_CASE(
    "A disk cache gives right bytes or none after every kill of its process",
    "[disk_cache][disk_cache_kill]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const storage::local::ScratchDir scratch;
  const std::string path = scratch.Path("tier");
  std::uint64_t hits = 0;
  for (int round = 0; round < kRounds; ++round) {
    RunAndKill(path, random(), 1 + random() % 1500);
    REQUIRE(SegmentBytesIn(path) <= kKilledCapacity);
    // In every other round, the next writer finds the files of the killed one.
    if (round % 2 == 0) continue;
    hits += ReadAll(path);
    REQUIRE(SegmentBytesIn(path) <= kKilledCapacity);
  }
  CHECK(hits > kRounds);
}

}  // namespace
}  // namespace forebay::cache::disk
