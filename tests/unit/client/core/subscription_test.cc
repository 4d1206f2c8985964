#include "client/core/subscription.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "proto/shm_ring.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::core {
namespace {

using tests::IsOk;

constexpr std::uint64_t kSlotBytes = 4 * 4096;
constexpr std::uint64_t kDataBytes = 2 * 4096;
constexpr std::uint32_t kSlots = 4;
constexpr std::uint32_t kQuota = 2;

std::uint8_t* Map(int fd, std::uint64_t bytes) {
  return static_cast<std::uint8_t*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
}

proto::Fd Memory(std::uint64_t bytes) {
  proto::Fd fd(memfd_create("test", MFD_CLOEXEC));
  CHECK(ftruncate(fd.get(), bytes) == 0);
  return fd;
}

// A subscription, and the daemon's end of its rings and slots.
class SubscriptionTest {
 protected:
  SubscriptionTest() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    daemon_end_ = proto::Fd(ends[1]);
    subscription_ = Subscription::Create(
        std::make_unique<wire::Session>(proto::Fd(ends[0])));
    proto::Fd ready = Memory(proto::kRingBytes),
              release = Memory(proto::kRingBytes);
    ready_ = reinterpret_cast<proto::ReadyRing*>(
        Map(ready.get(), proto::kRingBytes));
    release_ = reinterpret_cast<proto::ReleaseRing*>(
        Map(release.get(), proto::kRingBytes));
    ready_->magic = proto::kRingMagic;
    ready_->version = proto::kLayoutVersion;
    REQUIRE_THAT(
        subscription_->rings().Map(std::move(ready), std::move(release),
                                   proto::Fd(eventfd(0, EFD_CLOEXEC))),
        IsOk());
    std::vector<proto::Fd> slots;
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      slots.push_back(Memory(kSlotBytes));
      slots_.push_back(Map(slots.back().get(), kSlotBytes));
    }
    REQUIRE_THAT(subscription_->AttachSlots(slots, kSlotBytes, kQuota), IsOk());
  }

  proto::BatchHeader& header(std::uint32_t slot) {
    return *reinterpret_cast<proto::BatchHeader*>(slots_[slot]);
  }

  // Fills a slot with `value` and returns the entry that announces it.
  proto::ReadyEntry Fill(std::uint32_t slot, int value) {
    memset(slots_[slot], value, kSlotBytes);
    proto::BatchHeader& batch = header(slot);
    batch = {};
    batch.magic = proto::kBatchMagic;
    batch.version = proto::kLayoutVersion;
    batch.generation = ++generation_;
    batch.field_count = 1;
    batch.sample_count = 2;
    proto::FieldLayout& field = batch.fields[0];
    strcpy(field.name, "image");
    field.kind = proto::FieldKind::kImage;
    field.dtype = proto::DType::kUint8;
    field.rank = 2;
    field.shape[0] = 2;
    field.shape[1] = kDataBytes / 2;
    field.offset = proto::kSlotHeaderBytes;
    field.bytes = kDataBytes;
    return {.kind = proto::ReadyKind::kBatch,
            .slot = slot,
            .generation = generation_,
            .reserved = 0,
            .sample_count = 2,
            .epoch = 0};
  }

  forebay_batch* Lease(std::uint32_t slot, int value) {
    forebay_batch* batch = nullptr;
    const Status status = subscription_->Lease(Fill(slot, value), &batch);
    CAPTURE(status.message);
    CHECK_THAT(status, IsOk());
    return batch;
  }

  // Whether every byte of the batch's first field is `value`.
  static bool Shows(const forebay_batch* batch, int value) {
    for (std::uint64_t i = 0; i < kDataBytes; ++i)
      if (batch->data[proto::kSlotHeaderBytes + i] != value) return false;
    return true;
  }

  proto::Fd daemon_end_;
  std::shared_ptr<Subscription> subscription_;
  proto::ReadyRing* ready_ = nullptr;
  proto::ReleaseRing* release_ = nullptr;
  std::vector<std::uint8_t*> slots_;
  std::uint32_t generation_ = 0;
};

TEST_CASE_METHOD(SubscriptionTest,
                 "A client's writes into a batch are gone with the lease",
                 "[core][subscription]") {
  forebay_batch* batch = Lease(0, 1);
  memset(batch->data + proto::kSlotHeaderBytes, 9, kDataBytes);
  CHECK(slots_[0][proto::kSlotHeaderBytes] == 1);
  Subscription::Release(batch);
  batch = Lease(0, 2);
  CHECK(Shows(batch, 2));
  Subscription::Release(batch);

  proto::Release told;
  bool corrupt = false;
  REQUIRE(release_->Take(1, &told, &corrupt));
  CHECK(told.slot == 0);
  CHECK(told.generation == 2);
  CHECK_FALSE(release_->Take(2, &told, &corrupt));
}

TEST_CASE_METHOD(SubscriptionTest,
                 "A subscription gives back a malformed batch",
                 "[core][subscription]") {
  const proto::ReadyEntry entry = Fill(2, 1);
  header(2).field_count = proto::kMaxFields + 1;
  forebay_batch* batch = nullptr;
  const Status status = subscription_->Lease(entry, &batch);
  CHECK(status.code == FOREBAY_INTERNAL);
  CHECK(batch == nullptr);
  CHECK(subscription_->leases() == 0);
  proto::Release told;
  bool corrupt = false;
  REQUIRE(release_->Take(0, &told, &corrupt));
  CHECK(told.slot == 2);
  CHECK(told.generation == entry.generation);
}

TEST_CASE_METHOD(SubscriptionTest,
                 "Beyond the quota a subscription's batches are copies",
                 "[core][subscription]") {
  std::vector<forebay_batch*> held;
  for (std::uint32_t slot = 0; slot < kSlots; ++slot)
    held.push_back(Lease(slot, slot + 1));
  CHECK(subscription_->leases() == kQuota);
  CHECK(release_->tail.load() == kSlots - kQuota);
  CHECK(release_->batches_copied.load() == kSlots - kQuota);
  for (std::uint32_t slot = kQuota; slot < kSlots; ++slot) {
    Fill(slot, 99);
    CHECK(held[slot]->mapping == nullptr);
    CHECK(Shows(held[slot], slot + 1));
  }
  for (forebay_batch* batch : held) Subscription::Release(batch);
  CHECK(release_->tail.load() == kSlots);
}

TEST_CASE_METHOD(SubscriptionTest,
                 "A fork keeps both sides' batches of a subscription",
                 "[core][subscription]") {
  forebay_batch* batch = Lease(0, 1);
  const pid_t child = fork();
  if (child == 0) {
    Fill(0, 2);
    bool good = Shows(batch, 1) && !subscription_->rings().mapped();
    memset(batch->data, 7, kSlotBytes);
    Subscription::Release(batch);
    good = good && subscription_->leases() == 0;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(subscription_->rings().mapped());
  CHECK(Shows(batch, 1));
  CHECK(release_->tail.load() == 0);  // the child released nothing
  Subscription::Release(batch);
  batch = Lease(0, 3);
  CHECK(Shows(batch, 3));
  Subscription::Release(batch);
}

TEST_CASE_METHOD(SubscriptionTest,
                 "The last lease of a subscription ends the session",
                 "[core][subscription]") {
  forebay_batch* batch = Lease(0, 1);
  subscription_->EndWithLastLease();
  char byte;
  CHECK(recv(daemon_end_.get(), &byte, 1, MSG_DONTWAIT) == -1);
  CHECK(release_->left.load() == 1);
  CHECK(Shows(batch, 1));
  Subscription::Release(batch);
  CHECK(recv(daemon_end_.get(), &byte, 1, MSG_DONTWAIT) == 0);
}

TEST_CASE_METHOD(SubscriptionTest, "A subscription refuses malformed batches",
                 "[core][subscription]") {
  using Damage = void (*)(proto::BatchHeader&);
  const Damage damages[] = {
      [](auto& h) { h.magic = 0; },
      [](auto& h) { h.version = 99; },
      [](auto& h) { h.generation += 1; },
      [](auto& h) { h.field_count = proto::kMaxFields + 1; },
      [](auto& h) { h.sample_count = 3; },
      [](auto& h) { memset(h.fields[0].name, 'x', proto::kMaxFieldName); },
      [](auto& h) { h.fields[0].dtype = static_cast<proto::DType>(77); },
      [](auto& h) { h.fields[0].rank = 0; },
      [](auto& h) { h.fields[0].rank = proto::kMaxRank + 1; },
      [](auto& h) { h.fields[0].shape[1] = UINT64_MAX / 2; },
      [](auto& h) { h.fields[0].offset = 0; },
      [](auto& h) { h.fields[0].offset = kSlotBytes; },
      [](auto& h) { h.fields[0].offset = UINT64_MAX - 4095; },
      [](auto& h) { h.fields[0].row_splits_offset = kSlotBytes; },
  };
  for (const Damage damage : damages) {
    const proto::ReadyEntry entry = Fill(0, 1);
    damage(header(0));
    forebay_batch* batch = nullptr;
    CHECK(subscription_->Lease(entry, &batch).code == FOREBAY_INTERNAL);
    CHECK(batch == nullptr);
  }
  proto::ReadyEntry beyond = Fill(0, 1);
  beyond.slot = kSlots;
  forebay_batch* batch = nullptr;
  CHECK(subscription_->Lease(beyond, &batch).code == FOREBAY_INTERNAL);
  CHECK(subscription_->leases() == 0);
}

}  // namespace
}  // namespace forebay::client::core
