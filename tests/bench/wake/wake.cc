// Measures how long a sleeping trainer takes to notice a published batch,
// against a bare futex wake between two processes. Prints one JSON object:
// medians, in microseconds.
//
// The waker lets the sleeper fall asleep, notes the time and wakes the sleeper.
// The sleeper notes the time when it sees what it waited for. The two kinds
// take turns.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "client/shm/rings.h"
#include "proto/futex.h"
#include "server/slots/channel.h"

namespace {

using forebay::client::shm::Rings;
using forebay::slots::Channel;

constexpr std::uint32_t kRounds = 4000;
constexpr std::int64_t kPatience = 10'000'000'000;  // nanoseconds

// The memory that both processes share.
struct Shared {
  std::atomic<std::uint32_t> asleep{0};  // rounds that the sleeper has begun
  std::atomic<std::uint32_t> bare{0};    // the bare futex word
  std::atomic<std::int64_t> woken_at{0};
  std::array<std::int64_t, kRounds> bare_nanos;
  std::array<std::int64_t, kRounds> ring_nanos;
};

std::int64_t Now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void Die(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

void Sleep(Shared* shared, Rings* rings) {
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    shared->asleep.store(2 * i + 1);
    while (shared->bare.load() == i) {
      forebay::proto::FutexWait(&shared->bare, i, kPatience);
    }
    shared->bare_nanos[i] = Now() - shared->woken_at.load();

    shared->asleep.store(2 * i + 2);
    while (!rings->HasEntry()) rings->Wait(kPatience);
    rings->Take();
    shared->ring_nanos[i] = Now() - shared->woken_at.load();
  }
}

void AwaitSleep(const Shared& shared, std::uint32_t round) {
  while (shared.asleep.load() != round) std::this_thread::yield();
  // The sleeper will sleep soon. No event tells when.
  std::this_thread::sleep_for(std::chrono::microseconds(150));
}

void Wake(Shared* shared, Channel* channel) {
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    AwaitSleep(*shared, 2 * i + 1);
    shared->woken_at.store(Now());
    shared->bare.store(i + 1);
    forebay::proto::FutexWakeAll(&shared->bare);

    AwaitSleep(*shared, 2 * i + 2);
    forebay::proto::ReadyEntry entry{};
    entry.kind = forebay::proto::ReadyKind::kBatch;
    shared->woken_at.store(Now());
    channel->Publish(entry);
  }
}

double MedianMicroseconds(const std::array<std::int64_t, kRounds>& nanos) {
  std::vector<std::int64_t> sorted(nanos.begin(), nanos.end());
  std::sort(sorted.begin(), sorted.end());
  return static_cast<double>(sorted[kRounds / 2]) / 1e3;
}

}  // namespace

int main() {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Die("mmap");
  Shared* const shared = new (memory) Shared;
  absl::StatusOr<std::unique_ptr<Channel>> channel = Channel::Create();
  if (!channel.ok()) Die("Channel::Create");

  const pid_t child = fork();
  if (child < 0) Die("fork");
  if (child == 0) {
    using forebay::proto::Fd;
    Rings rings;
    if (!rings
             .Map(Fd(dup((*channel)->ready_fd())),
                  Fd(dup((*channel)->release_fd())),
                  Fd(dup((*channel)->event_fd())))
             .ok()) {
      Die("Rings::Map");
    }
    Sleep(shared, &rings);
    std::_Exit(0);
  }
  Wake(shared, channel->get());
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) Die("the sleeper");
  std::printf("{\"rounds\": %u, \"futex_us\": %.2f, \"ring_us\": %.2f}\n",
              kRounds, MedianMicroseconds(shared->bare_nanos),
              MedianMicroseconds(shared->ring_nanos));
  return 0;
}
