#include "server/slots/channel.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::slots {
namespace {

using tests::IsOk;

// A channel, and the client's view of its rings.
class ChannelTest {
 protected:
  ChannelTest() {
    auto channel = Channel::Create();
    REQUIRE_THAT(channel, IsOk());
    channel_ = *std::move(channel);
    ready_ = static_cast<const proto::ReadyRing*>(
        mmap(nullptr, proto::kRingBytes, PROT_READ, MAP_SHARED,
             channel_->ready_fd(), 0));
    release_ = static_cast<proto::ReleaseRing*>(
        mmap(nullptr, proto::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
             channel_->release_fd(), 0));
    REQUIRE(ready_ != MAP_FAILED);
    REQUIRE(release_ != MAP_FAILED);
  }
  ~ChannelTest() {
    munmap(const_cast<proto::ReadyRing*>(ready_), proto::kRingBytes);
    munmap(release_, proto::kRingBytes);
  }

  std::unique_ptr<Channel> channel_;
  const proto::ReadyRing* ready_ = nullptr;
  proto::ReleaseRing* release_ = nullptr;
};

TEST_CASE_METHOD(ChannelTest, "A channel publishes to the client in order",
                 "[slots][channel]") {
  CHECK(ready_->magic == proto::kRingMagic);
  CHECK(ready_->version == proto::kLayoutVersion);
  for (std::uint32_t i = 0; i < 2 * proto::kReadyCapacity + 3; ++i) {
    channel_->Publish({.kind = proto::ReadyKind::kBatch,
                       .slot = i % 4,
                       .generation = i,
                       .reserved = 0,
                       .sample_count = 64,
                       .epoch = 9});
    REQUIRE(ready_->tail.load() == i + 1);
    REQUIRE(ready_->entries[i % proto::kReadyCapacity].generation == i);
  }
  CHECK(channel_->published() == 2 * proto::kReadyCapacity + 3);
}

TEST_CASE_METHOD(ChannelTest, "A channel publishes an error cut to its place",
                 "[slots][channel]") {
  channel_->PublishError(
      absl::DataLossError(std::string(2 * proto::kMaxErrorText, 'x')), 3);
  CHECK(ready_->entries[0].kind == proto::ReadyKind::kError);
  CHECK(ready_->entries[0].epoch == 3);
  CHECK(ready_->error_code ==
        static_cast<std::uint32_t>(absl::StatusCode::kDataLoss));
  CHECK(std::string(ready_->error_text) ==
        std::string(proto::kMaxErrorText - 1, 'x'));
}

TEST_CASE_METHOD(ChannelTest,
                 "A channel leaves nothing of a longer error behind a shorter",
                 "[slots][channel]") {
  channel_->PublishError(absl::DataLossError("a long text"), 3);
  channel_->PublishError(absl::NotFoundError("short"), 4);
  CHECK(ready_->entries[1].epoch == 4);
  CHECK(ready_->error_code ==
        static_cast<std::uint32_t>(absl::StatusCode::kNotFound));
  CHECK(std::string(ready_->error_text) == "short");
}

TEST_CASE_METHOD(ChannelTest,
                 "A channel takes releases once each across the ring's end",
                 "[slots][channel]") {
  CHECK_FALSE(channel_->TakeRelease().has_value());
  for (std::uint32_t i = 0; i < 3 * proto::kReleaseCapacity; ++i) {
    release_->Push({.slot = i, .generation = ~i});
    const auto release = channel_->TakeRelease();
    REQUIRE(release.has_value());
    REQUIRE(release->slot == i);
    REQUIRE(release->generation == ~i);
    REQUIRE_FALSE(channel_->TakeRelease().has_value());
  }
  CHECK_FALSE(channel_->corrupt());
}

TEST_CASE_METHOD(ChannelTest, "A channel tells an absurd tail from releases",
                 "[slots][channel]") {
  release_->tail.store(std::numeric_limits<std::uint32_t>::max());
  CHECK_FALSE(channel_->TakeRelease().has_value());
  CHECK(channel_->corrupt());
  release_->tail.store(1);
  UNSCOPED_INFO("once corrupt, always");
  CHECK_FALSE(channel_->TakeRelease().has_value());
}

TEST_CASE_METHOD(ChannelTest, "A channel's event is readable until cleared",
                 "[slots][channel]") {
  struct pollfd poll_fd = {
      .fd = channel_->event_fd(), .events = POLLIN, .revents = 0};
  CHECK(poll(&poll_fd, 1, 0) == 0);
  const std::uint64_t one = 1;
  REQUIRE(write(channel_->event_fd(), &one, sizeof(one)) ==
          static_cast<ssize_t>(sizeof(one)));
  CHECK(poll(&poll_fd, 1, 0) == 1);
  channel_->ClearEvent();
  CHECK(poll(&poll_fd, 1, 0) == 0);
  channel_->ClearEvent();  // a second call does not block
}

TEST_CASE_METHOD(ChannelTest,
                 "A channel hands on what the client says of itself",
                 "[slots][channel]") {
  release_->waiting.store(1);
  release_->taken_count.store(17);
  release_->wait_nanos.store(123456789012);
  release_->batches_copied.store(5);
  const ClientReport report = channel_->client_report();
  CHECK(report.waiting);
  CHECK(report.taken_count == 17);
  CHECK(report.wait_nanos == 123456789012);
  CHECK(report.batches_copied == 5);
}

}  // namespace
}  // namespace forebay::slots
