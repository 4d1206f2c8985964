#include "client/core/remote_loader.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/wire/packet_socket.h"
#include "proto/session.pb.h"
#include "proto/shm_layout.h"
#include "proto/shm_ring.h"
#include "tests/unit/client/device/fake_plugin.h"

namespace forebay::client::core {
namespace {

constexpr std::uint64_t kLoader = 77;
constexpr std::uint64_t kSlotBytes = 4096;
constexpr std::int64_t kNoWait = 0;

proto::Fd Memory(std::uint64_t bytes) {
  proto::Fd fd(memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  return fd;
}

// A loader, and the daemon's end of its session. The daemon answers a request
// before it is made: its id is known.
class RemoteLoaderTest : public ::testing::Test {
 protected:
  void SetUp() override { Make(nullptr); }
  void Make(std::shared_ptr<device::Gpu> gpu) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    daemon_ = proto::Fd(ends[1]);
    auto session = std::make_unique<wire::Session>(proto::Fd(ends[0]));
    const std::uint64_t request = session->NextRequestId();
    ASSERT_TRUE(session->Send(request, "open", {}).ok());
    Heard();
    loader_ = std::make_unique<RemoteLoader>(std::move(session), request,
                                             std::move(gpu));
  }

  void Answer(std::uint64_t request, proto::DaemonMessage message,
              const std::vector<int>& fds) {
    message.set_request_id(request);
    const Status sent =
        wire::SendPacket(daemon_.get(), message.SerializeAsString(), fds);
    ASSERT_TRUE(sent.ok()) << sent.message;
  }

  // The next message of the client; how many descriptors came with it.
  size_t Heard(proto::ClientMessage* message = nullptr) {
    std::string bytes;
    std::vector<proto::Fd> fds;
    EXPECT_TRUE(wire::ReceivePacket(daemon_.get(), kNoWait, &bytes, &fds).ok());
    if (message != nullptr) {
      EXPECT_TRUE(message->ParseFromString(bytes));
    }
    return fds.size();
  }

  Status Open(const proto::LoaderPlacement* placement = nullptr) {
    proto::Fd ready = Memory(proto::kRingBytes);
    auto* const ring = static_cast<proto::ReadyRing*>(
        mmap(nullptr, proto::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
             ready.get(), 0));
    ring->magic = proto::kRingMagic;
    ring->version = proto::kLayoutVersion;
    munmap(ring, proto::kRingBytes);
    const proto::Fd release = Memory(proto::kRingBytes);
    const proto::Fd event(eventfd(0, EFD_CLOEXEC));
    proto::DaemonMessage opened;
    opened.mutable_loader_opened()->set_loader_id(kLoader);
    if (placement != nullptr)
      *opened.mutable_loader_opened()->mutable_placement() = *placement;
    Answer(1, opened, {ready.get(), release.get(), event.get()});
    return loader_->Open(kNoWait, &opened_, &class_list_);
  }

  proto::Fd daemon_;
  std::unique_ptr<RemoteLoader> loader_;
  wire::LoaderOpened opened_;
  proto::Fd class_list_;
};

TEST_F(RemoteLoaderTest, IsOpenOnceTheDaemonSaysSo) {
  EXPECT_EQ(loader_->Open(kNoWait, &opened_, &class_list_).code,
            FOREBAY_TIMEOUT);
  EXPECT_FALSE(loader_->is_open());
  const Status status = Open();
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(loader_->is_open());
  EXPECT_EQ(opened_.loader_id, kLoader);
  EXPECT_FALSE(class_list_);
  EXPECT_FALSE(loader_->IsLost());
}

TEST_F(RemoteLoaderTest, ALoaderWithoutRingsIsNonsense) {
  proto::DaemonMessage opened;
  opened.mutable_loader_opened()->set_loader_id(kLoader);
  Answer(1, opened, {});
  EXPECT_EQ(loader_->Open(kNoWait, &opened_, &class_list_).code,
            FOREBAY_INTERNAL);
  EXPECT_FALSE(loader_->is_open());
}

TEST_F(RemoteLoaderTest, ADaemonThatKnowsNoGpusIsToBeUpgraded) {
  device::Told() = {};
  std::shared_ptr<device::Gpu> gpu;
  ASSERT_TRUE(device::Gpu::Open(device::kFakePlugin, 0, &gpu).ok());
  Make(gpu);
  const Status status = Open();
  EXPECT_EQ(status.code, FOREBAY_FAILED_PRECONDITION);
  EXPECT_NE(status.message.find("upgrade it"), std::string::npos);
  EXPECT_FALSE(loader_->is_open());
}

TEST_F(RemoteLoaderTest, ADaemonThatPicksAnotherGpuIsNotBelieved) {
  device::Told() = {};
  std::shared_ptr<device::Gpu> gpu;
  ASSERT_TRUE(device::Gpu::Open(device::kFakePlugin, 0, &gpu).ok());
  Make(gpu);
  proto::LoaderPlacement placement;
  placement.set_gpu_uuid("uuid 1");
  EXPECT_EQ(Open(&placement).code, FOREBAY_INTERNAL);
}

TEST_F(RemoteLoaderTest, ASlotOnAGpuHasTwoDescriptors) {
  device::Told() = {};
  std::shared_ptr<device::Gpu> gpu;
  ASSERT_TRUE(device::Gpu::Open(device::kFakePlugin, 0, &gpu).ok());
  Make(gpu);
  proto::LoaderPlacement placement;
  placement.set_gpu_uuid("uuid 0");
  placement.set_device_bytes(4096);
  ASSERT_TRUE(Open(&placement).ok());
  const proto::Fd slot = Memory(kSlotBytes);
  proto::DaemonMessage answer;
  answer.mutable_epoch_started()->set_slot_count(1);
  answer.mutable_epoch_started()->set_slot_bytes(kSlotBytes);
  Answer(2, answer, {slot.get()});
  wire::EpochStarted started;
  std::vector<proto::Fd> slots;
  EXPECT_EQ(loader_->StartEpoch(EpochPosition(), &started, &slots).code,
            FOREBAY_INTERNAL);
}

TEST_F(RemoteLoaderTest, NothingIsAskedOfADaemonThatHasNotOpenedIt) {
  wire::EpochStarted started;
  std::vector<proto::Fd> slots;
  EXPECT_EQ(loader_->StartEpoch(EpochPosition(), &started, &slots).code,
            FOREBAY_UNAVAILABLE);
  forebay_loader_stats stats;
  EXPECT_EQ(loader_->GetStats(&stats).code, FOREBAY_UNAVAILABLE);
}

TEST_F(RemoteLoaderTest, AnEpochStartsAtItsPositionWithItsList) {
  ASSERT_TRUE(Open().ok());
  EpochPosition position(5, 6, /*is_coordinated=*/true);
  const std::int64_t seen[] = {3, 4};
  ASSERT_TRUE(position.SetList(seen, 2).ok());
  const proto::Fd slot = Memory(kSlotBytes);
  proto::DaemonMessage answer;
  answer.mutable_epoch_started()->set_slot_count(1);
  answer.mutable_epoch_started()->set_slot_bytes(kSlotBytes);
  Answer(2, answer, {slot.get()});
  wire::EpochStarted started;
  std::vector<proto::Fd> slots;
  const Status status = loader_->StartEpoch(position, &started, &slots);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(started.slot_bytes, kSlotBytes);
  EXPECT_EQ(slots.size(), 1);
  proto::ClientMessage asked;
  EXPECT_EQ(Heard(&asked), 1);
  EXPECT_EQ(asked.start_epoch().loader_id(), kLoader);
  EXPECT_EQ(asked.start_epoch().epoch(), 5);
  EXPECT_EQ(asked.start_epoch().first_sample(), 6);
  EXPECT_TRUE(asked.start_epoch().listed());
}

TEST_F(RemoteLoaderTest, ADaemonThatCountsItsSlotsWronglyIsLeft) {
  ASSERT_TRUE(Open().ok());
  proto::DaemonMessage answer;
  answer.mutable_epoch_started()->set_slot_count(1);
  Answer(2, answer, {});
  wire::EpochStarted started;
  std::vector<proto::Fd> slots;
  EXPECT_EQ(loader_->StartEpoch(EpochPosition(), &started, &slots).code,
            FOREBAY_INTERNAL);
  EXPECT_TRUE(loader_->IsLost());
}

TEST_F(RemoteLoaderTest, FetchesSlotsThatWereAddedAndNoOthers) {
  ASSERT_TRUE(Open().ok());
  const proto::Fd first = Memory(kSlotBytes), second = Memory(kSlotBytes);
  std::vector<proto::Fd> slots;
  slots.emplace_back(dup(first.get()));
  ASSERT_TRUE(loader_->subscription().AttachSlots(slots, kSlotBytes, 1).ok());
  EXPECT_TRUE(loader_->FetchSlot(0).ok());  // is mapped: asks nothing
  proto::DaemonMessage answer;
  answer.mutable_slots();
  Answer(2, answer, {second.get()});
  const Status status = loader_->FetchSlot(1);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(loader_->subscription().slots(), 2);
  Answer(3, answer, {});
  EXPECT_EQ(loader_->FetchSlot(2).code, FOREBAY_INTERNAL);
}

TEST_F(RemoteLoaderTest, CloseEndsTheSession) {
  ASSERT_TRUE(Open().ok());
  proto::DaemonMessage answer;
  answer.mutable_loader_closed();
  Answer(2, answer, {});
  loader_->Close();
  proto::ClientMessage asked;
  Heard(&asked);
  EXPECT_EQ(asked.close_loader().loader_id(), kLoader);
  EXPECT_TRUE(loader_->IsLost());
}

}  // namespace
}  // namespace forebay::client::core
