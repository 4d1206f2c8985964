#include "server/stream/member.h"

#include <sys/mman.h>

#include <cstdint>
#include <memory>

#include "proto/shm_ring.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE(
    "A member starves in a new epoch though a batch of the last one is left",
    "[stream][member]") {
  FakeProduction production(1);
  const StreamSpec stream_spec = FakeStreamSpec(1000, 10);
  const auto channel = *slots::Channel::Create();
  Member member(1, channel.get(), {.flow = 1, .slots = 4}, stream_spec.batch,
                {.next_use_registry = nullptr, .dataset = stream_spec.dataset});
  member.Start(EpochPair::Of(stream_spec.sampler, 0), 0, 0);
  CHECK(member.Starves(0));
  member.Publish({.key = {0, 0}, .samples = 10}, /*generation=*/1, 0);
  member.Stop();
  CHECK(member.Account() == 1);
  member.Start(EpochPair::Of(stream_spec.sampler, 1), 0, kSecond);
  CHECK(member.Starves(2 * kSecond));
}

TEST_CASE("A member counts what its trainer waited since the host worked",
          "[stream][member]") {
  FakeProduction production(1);
  const StreamSpec stream_spec = FakeStreamSpec(1000, 10);
  const auto channel = *slots::Channel::Create();
  auto* const ring = static_cast<proto::ReleaseRing*>(
      mmap(nullptr, proto::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
           channel->release_fd(), 0));
  REQUIRE(ring != MAP_FAILED);
  Member member(1, channel.get(), {.flow = 1, .slots = 4}, stream_spec.batch,
                {.next_use_registry = nullptr, .dataset = stream_spec.dataset});
  member.Start(EpochPair::Of(stream_spec.sampler, 0), 0, 0);
  ring->wait_nanos = 2 * kSecond;
  CHECK(member.WaitedForWorkerPool() == 2 * kSecond);
  CHECK(member.LookAtWait() == 2 * kSecond);
  CHECK(member.LookAtWait() == 0);
  member.SawPoolWork();
  CHECK(member.WaitedForWorkerPool() == 0);
  ring->wait_nanos += kSecond;
  CHECK(member.WaitedForWorkerPool() == kSecond);
  member.Publish({.key = {0, 0}, .samples = 10}, /*generation=*/1, 0);
  CHECK(member.Account() == 1);
  UNSCOPED_INFO("a batch is ready");
  CHECK(member.WaitedForWorkerPool() == 0);
  // A client may write any number here.
  ring->wait_nanos = 0;
  CHECK(member.LookAtWait() == 0);
  ring->wait_nanos = UINT64_MAX;
  CHECK(member.LookAtWait() == 0);
  munmap(ring, proto::kRingBytes);
}

}  // namespace
}  // namespace forebay::stream
