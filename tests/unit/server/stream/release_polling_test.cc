#include "server/stream/release_polling.h"

#include <sys/mman.h>

#include <memory>

#include "proto/shm_ring.h"
#include "server/base/memory_budget.h"
#include "server/slots/channel.h"
#include "server/stream/epoch_pair.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

class ReleasePollingTest {
 protected:
  ReleasePollingTest()
      : release_(static_cast<proto::ReleaseRing*>(
            mmap(nullptr, proto::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                 channel_->release_fd(), 0))) {
    REQUIRE(release_ != MAP_FAILED);
    members_.Start(member_, EpochPair::Of(spec_.sampler, 0), 0, 0);
  }
  ~ReleasePollingTest() { munmap(release_, proto::kRingBytes); }

  const StreamSpec spec_ = FakeStreamSpec(1000, 10);
  const std::unique_ptr<slots::Channel> channel_ = *slots::Channel::Create();
  proto::ReleaseRing* const release_;
  base::MemoryBudget budget_{1 << 20};
  BatchCache batch_cache_{&budget_, {.host = 4096, .device = 0}};
  MemberSet members_{spec_.batch,
                     {.next_use_registry = nullptr, .dataset = spec_.dataset}};
  Member& member_ = members_.Join(channel_.get(), {.flow = 1, .slots = 4});
  ReleasePolling polling_{&members_, &batch_cache_};
};

TEST_CASE_METHOD(ReleasePollingTest,
                 "Members are polled while any thread is registered",
                 "[stream][release_polling]") {
  CHECK_FALSE(member_.is_looked_at());
  polling_.Enter();
  polling_.Enter();
  polling_.Leave();
  CHECK_FALSE(polling_.TellMembers());
  CHECK(member_.is_looked_at());
  polling_.Leave();
  CHECK_FALSE(polling_.TellMembers());
  CHECK_FALSE(member_.is_looked_at());
}

TEST_CASE_METHOD(ReleasePollingTest,
                 "A ring that changes before polling ended is planned for",
                 "[stream][release_polling]") {
  polling_.Enter();
  polling_.Planned();
  member_.Publish({.key = {0, 0}, .samples = 10}, /*generation=*/1, 0);
  release_->taken_count = 1;
  polling_.Leave();
  CHECK(polling_.TellMembers());
  polling_.Planned();
  CHECK_FALSE(polling_.TellMembers());
}

}  // namespace
}  // namespace forebay::stream
