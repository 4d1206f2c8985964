#include "client/core/remote_loader.h"

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
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/client/device/fake_plugin.h"

namespace forebay::client::core {
namespace {

using tests::Contains;
using tests::IsOk;

constexpr std::uint64_t kLoader = 77;
constexpr std::uint64_t kSlotBytes = 4096;
constexpr std::int64_t kNoWait = 0;

proto::Fd Memory(std::uint64_t bytes) {
  proto::Fd fd(memfd_create("test", MFD_CLOEXEC));
  CHECK(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  return fd;
}

// A loader, and the daemon's end of its session. Tests send the daemon's answer
// before the client's request, because the request's id is known in advance.
class RemoteLoaderTest {
 protected:
  RemoteLoaderTest() { Make(nullptr); }
  void Make(std::shared_ptr<device::Gpu> gpu) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    daemon_ = proto::Fd(ends[1]);
    auto session = std::make_unique<wire::Session>(proto::Fd(ends[0]));
    std::uint64_t request;
    REQUIRE_THAT(session->Send(message::OpenLoader(), {}, &request), IsOk());
    Heard();
    loader_ = std::make_unique<RemoteLoader>(std::move(session), request,
                                             std::move(gpu));
  }

  void Answer(std::uint64_t request, proto::DaemonMessage message,
              const std::vector<int>& fds) {
    message.set_request_id(request);
    const Status sent =
        wire::SendPacket(daemon_.get(), message.SerializeAsString(), fds);
    CAPTURE(sent.message);
    REQUIRE_THAT(sent, IsOk());
  }

  // Takes the client's next message. Returns the number of descriptors that
  // came with it.
  size_t Heard(proto::ClientMessage* message = nullptr) {
    std::string bytes;
    std::vector<proto::Fd> fds;
    CHECK_THAT(wire::ReceivePacket(daemon_.get(), kNoWait, &bytes, &fds),
               IsOk());
    if (message != nullptr) {
      CHECK(message->ParseFromString(bytes));
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
  message::LoaderOpened opened_;
  proto::Fd class_list_;
};

TEST_CASE_METHOD(RemoteLoaderTest,
                 "A remote loader is open once the daemon says so",
                 "[core][remote_loader]") {
  CHECK(loader_->Open(kNoWait, &opened_, &class_list_).code == FOREBAY_TIMEOUT);
  CHECK_FALSE(loader_->is_open());
  const Status status = Open();
  CAPTURE(status.message);
  REQUIRE_THAT(status, IsOk());
  CHECK(loader_->is_open());
  CHECK(opened_.loader_id == kLoader);
  CHECK_FALSE(class_list_);
  CHECK_FALSE(loader_->IsLost());
}

TEST_CASE_METHOD(RemoteLoaderTest,
                 "A remote loader without rings is nonsense and does not open",
                 "[core][remote_loader]") {
  proto::DaemonMessage opened;
  opened.mutable_loader_opened()->set_loader_id(kLoader);
  Answer(1, opened, {});
  CHECK(loader_->Open(kNoWait, &opened_, &class_list_).code ==
        FOREBAY_INTERNAL);
  CHECK_FALSE(loader_->is_open());
}

TEST_CASE_METHOD(RemoteLoaderTest,
                 "A remote loader says to upgrade a daemon that knows no GPUs",
                 "[core][remote_loader]") {
  device::Told() = {};
  std::shared_ptr<device::Gpu> gpu;
  REQUIRE_THAT(device::Gpu::Open(device::kFakePlugin, 0, &gpu), IsOk());
  Make(gpu);
  const Status status = Open();
  CHECK(status.code == FOREBAY_FAILED_PRECONDITION);
  CHECK_THAT(status.message, Contains("upgrade it"));
  CHECK_FALSE(loader_->is_open());
}

TEST_CASE_METHOD(
    RemoteLoaderTest,
    "A remote loader does not believe a daemon that picks another GPU",
    "[core][remote_loader]") {
  device::Told() = {};
  std::shared_ptr<device::Gpu> gpu;
  REQUIRE_THAT(device::Gpu::Open(device::kFakePlugin, 0, &gpu), IsOk());
  Make(gpu);
  proto::LoaderPlacement placement;
  placement.set_gpu_uuid("uuid 1");
  CHECK(Open(&placement).code == FOREBAY_INTERNAL);
}

TEST_CASE_METHOD(RemoteLoaderTest,
                 "A remote loader demands two descriptors for a slot on a GPU",
                 "[core][remote_loader]") {
  device::Told() = {};
  std::shared_ptr<device::Gpu> gpu;
  REQUIRE_THAT(device::Gpu::Open(device::kFakePlugin, 0, &gpu), IsOk());
  Make(gpu);
  proto::LoaderPlacement placement;
  placement.set_gpu_uuid("uuid 0");
  placement.set_device_bytes(4096);
  REQUIRE_THAT(Open(&placement), IsOk());
  const proto::Fd slot = Memory(kSlotBytes);
  proto::DaemonMessage answer;
  answer.mutable_epoch_started()->set_slot_count(1);
  answer.mutable_epoch_started()->set_slot_bytes(kSlotBytes);
  Answer(2, answer, {slot.get()});
  message::EpochStarted started;
  std::vector<proto::Fd> slots;
  CHECK(loader_->StartEpoch(EpochPosition(), &started, &slots).code ==
        FOREBAY_INTERNAL);
}

TEST_CASE_METHOD(
    RemoteLoaderTest,
    "A remote loader asks nothing of a daemon that has not opened it",
    "[core][remote_loader]") {
  message::EpochStarted started;
  std::vector<proto::Fd> slots;
  CHECK(loader_->StartEpoch(EpochPosition(), &started, &slots).code ==
        FOREBAY_UNAVAILABLE);
  message::LoaderCounters counters;
  CHECK(loader_->GetCounters(&counters).code == FOREBAY_UNAVAILABLE);
}

TEST_CASE_METHOD(
    RemoteLoaderTest,
    "A remote loader starts an epoch at its position with its list",
    "[core][remote_loader]") {
  REQUIRE_THAT(Open(), IsOk());
  EpochPosition position(5, 6, /*is_coordinated=*/true);
  const std::int64_t seen[] = {3, 4};
  REQUIRE_THAT(position.SetList(seen, 2), IsOk());
  const proto::Fd slot = Memory(kSlotBytes);
  proto::DaemonMessage answer;
  answer.mutable_epoch_started()->set_slot_count(1);
  answer.mutable_epoch_started()->set_slot_bytes(kSlotBytes);
  Answer(2, answer, {slot.get()});
  message::EpochStarted started;
  std::vector<proto::Fd> slots;
  const Status status = loader_->StartEpoch(position, &started, &slots);
  CAPTURE(status.message);
  REQUIRE_THAT(status, IsOk());
  CHECK(started.slot_bytes == kSlotBytes);
  CHECK(slots.size() == 1);
  proto::ClientMessage asked;
  CHECK(Heard(&asked) == 1);
  CHECK(asked.start_epoch().loader_id() == kLoader);
  CHECK(asked.start_epoch().epoch() == 5);
  CHECK(asked.start_epoch().first_sample() == 6);
  CHECK(asked.start_epoch().listed());
}

TEST_CASE_METHOD(
    RemoteLoaderTest,
    "A remote loader leaves a daemon that counts its slots wrongly",
    "[core][remote_loader]") {
  REQUIRE_THAT(Open(), IsOk());
  proto::DaemonMessage answer;
  answer.mutable_epoch_started()->set_slot_count(1);
  Answer(2, answer, {});
  message::EpochStarted started;
  std::vector<proto::Fd> slots;
  CHECK(loader_->StartEpoch(EpochPosition(), &started, &slots).code ==
        FOREBAY_INTERNAL);
  CHECK(loader_->IsLost());
}

TEST_CASE_METHOD(RemoteLoaderTest,
                 "A remote loader fetches slots that were added and no others",
                 "[core][remote_loader]") {
  REQUIRE_THAT(Open(), IsOk());
  const proto::Fd first = Memory(kSlotBytes), second = Memory(kSlotBytes);
  std::vector<proto::Fd> slots;
  slots.emplace_back(dup(first.get()));
  REQUIRE_THAT(loader_->subscription().AttachSlots(slots, kSlotBytes, 1),
               IsOk());
  // This slot is mapped, so no request is sent.
  CHECK_THAT(loader_->FetchSlot(0), IsOk());
  proto::DaemonMessage answer;
  answer.mutable_slots();
  Answer(2, answer, {second.get()});
  const Status status = loader_->FetchSlot(1);
  CAPTURE(status.message);
  CHECK_THAT(status, IsOk());
  CHECK(loader_->subscription().slots() == 2);
  Answer(3, answer, {});
  CHECK(loader_->FetchSlot(2).code == FOREBAY_INTERNAL);
}

TEST_CASE_METHOD(RemoteLoaderTest,
                 "The close of a remote loader ends the session",
                 "[core][remote_loader]") {
  REQUIRE_THAT(Open(), IsOk());
  proto::DaemonMessage answer;
  answer.mutable_loader_closed();
  Answer(2, answer, {});
  loader_->Close();
  proto::ClientMessage asked;
  Heard(&asked);
  CHECK(asked.close_loader().loader_id() == kLoader);
  CHECK(loader_->IsLost());
}

}  // namespace
}  // namespace forebay::client::core
