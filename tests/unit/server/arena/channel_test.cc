#include "server/arena/channel.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>
#include <string>

namespace forebay::arena {
namespace {

// The client's view of the rings.
class ChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto channel = Channel::Create();
    ASSERT_TRUE(channel.ok()) << channel.status();
    channel_ = *std::move(channel);
    ready_ = static_cast<const proto::ReadyRing*>(
        mmap(nullptr, proto::kRingBytes, PROT_READ, MAP_SHARED,
             channel_->ready_fd(), 0));
    release_ = static_cast<proto::ReleaseRing*>(
        mmap(nullptr, proto::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
             channel_->release_fd(), 0));
    ASSERT_NE(ready_, MAP_FAILED);
    ASSERT_NE(release_, MAP_FAILED);
  }
  void TearDown() override {
    munmap(const_cast<proto::ReadyRing*>(ready_), proto::kRingBytes);
    munmap(release_, proto::kRingBytes);
  }

  std::unique_ptr<Channel> channel_;
  const proto::ReadyRing* ready_ = nullptr;
  proto::ReleaseRing* release_ = nullptr;
};

TEST_F(ChannelTest, PublishesToTheClientInOrder) {
  EXPECT_EQ(ready_->magic, proto::kRingMagic);
  EXPECT_EQ(ready_->version, proto::kLayoutVersion);
  for (std::uint32_t i = 0; i < 2 * proto::kReadyCapacity + 3; ++i) {
    channel_->Publish({.kind = proto::ReadyKind::kBatch,
                       .slot = i % 4,
                       .generation = i,
                       .reserved = 0,
                       .sample_count = 64,
                       .epoch = 9});
    ASSERT_EQ(ready_->tail.load(), i + 1);
    ASSERT_EQ(ready_->entries[i % proto::kReadyCapacity].generation, i);
  }
  EXPECT_EQ(channel_->published(), 2 * proto::kReadyCapacity + 3);
}

TEST_F(ChannelTest, PublishesAnErrorCutToItsPlace) {
  channel_->PublishError(
      absl::DataLossError(std::string(2 * proto::kMaxErrorText, 'x')), 3);
  EXPECT_EQ(ready_->entries[0].kind, proto::ReadyKind::kError);
  EXPECT_EQ(ready_->entries[0].epoch, 3);
  EXPECT_EQ(ready_->error_code,
            static_cast<std::uint32_t>(absl::StatusCode::kDataLoss));
  EXPECT_EQ(std::string(ready_->error_text),
            std::string(proto::kMaxErrorText - 1, 'x'));
}

TEST_F(ChannelTest, TakesReleasesOnceEachAcrossTheRingsEnd) {
  EXPECT_FALSE(channel_->TakeRelease().has_value());
  for (std::uint32_t i = 0; i < 3 * proto::kReleaseCapacity; ++i) {
    release_->Push({.slot = i, .generation = ~i});
    const auto release = channel_->TakeRelease();
    ASSERT_TRUE(release.has_value());
    ASSERT_EQ(release->slot, i);
    ASSERT_EQ(release->generation, ~i);
    ASSERT_FALSE(channel_->TakeRelease().has_value());
  }
  EXPECT_FALSE(channel_->corrupt());
}

TEST_F(ChannelTest, TellsAnAbsurdTailFromReleases) {
  release_->tail.store(std::numeric_limits<std::uint32_t>::max());
  EXPECT_FALSE(channel_->TakeRelease().has_value());
  EXPECT_TRUE(channel_->corrupt());
  release_->tail.store(1);
  EXPECT_FALSE(channel_->TakeRelease().has_value()) << "once corrupt, always";
}

TEST_F(ChannelTest, EventIsReadableUntilCleared) {
  struct pollfd poll_fd = {
      .fd = channel_->event_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
  const std::uint64_t one = 1;
  ASSERT_EQ(write(channel_->event_fd(), &one, sizeof(one)),
            static_cast<ssize_t>(sizeof(one)));
  EXPECT_EQ(poll(&poll_fd, 1, 0), 1);
  channel_->ClearEvent();
  EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
  channel_->ClearEvent();  // does not block
}

TEST_F(ChannelTest, HandsOnWhatTheClientSaysOfItself) {
  release_->waiting.store(1);
  release_->taken.store(17);
  release_->wait_nanos.store(123456789012);
  release_->batches_copied.store(5);
  const ClientReport report = channel_->client_report();
  EXPECT_TRUE(report.waiting);
  EXPECT_EQ(report.taken, 17);
  EXPECT_EQ(report.wait_nanos, 123456789012);
  EXPECT_EQ(report.batches_copied, 5);
}

}  // namespace
}  // namespace forebay::arena
