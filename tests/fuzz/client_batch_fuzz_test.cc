// Fuzzes the entries of the ready ring, and the batches that the entries
// announce. The client refuses a batch, or every field lies within the memory
// of the slot or of the copy.

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "client/core/batch.h"
#include "client/core/subscription.h"
#include "client/wire/session.h"
#include "proto/fd.h"
#include "proto/shm_layout.h"
#include "proto/shm_ring.h"
#include "tests/fuzz/require.h"

namespace {

namespace client = forebay::client;
namespace core = forebay::client::core;
namespace proto = forebay::proto;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;

constexpr std::uint32_t kSlots = 2;
constexpr std::uint64_t kSlotBytes = 16 * 4096;
// Number of batches that a loader may hold. A second batch is copied.
constexpr std::uint32_t kQuota = 1;
constexpr std::size_t kMaxEntries = 4;

// A client's subscription, and the daemon's end of it.
class Pair {
 public:
  Pair() {
    int ends[2];
    Require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    daemon_ = proto::Fd(ends[1]);
    subscription_ = core::Subscription::Create(
        std::make_unique<client::wire::Session>(proto::Fd(ends[0])));
    proto::Fd ready = Memory(proto::kRingBytes);
    ring_ = static_cast<proto::ReadyRing*>(Map(ready, proto::kRingBytes));
    ring_->magic = proto::kRingMagic;
    ring_->version = proto::kLayoutVersion;
    Require(subscription_->rings()
                .Map(std::move(ready), Memory(proto::kRingBytes),
                     proto::Fd(eventfd(0, EFD_CLOEXEC)))
                .ok());
    std::vector<proto::Fd> slots;
    for (void*& slot : slots_) {
      slots.push_back(Memory(kSlotBytes));
      slot = Map(slots.back(), kSlotBytes);
    }
    Require(subscription_->AttachSlots(slots, kSlotBytes, kQuota).ok());
  }
  ~Pair() {
    munmap(ring_, proto::kRingBytes);
    for (void* slot : slots_) munmap(slot, kSlotBytes);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  core::Subscription& subscription() { return *subscription_; }
  proto::ReadyRing& ring() { return *ring_; }
  void Fill(std::uint32_t slot, const std::uint8_t* data, std::size_t size) {
    std::memcpy(slots_[slot], data, size);
  }

 private:
  static proto::Fd Memory(std::uint64_t bytes) {
    proto::Fd fd(memfd_create("fuzz", MFD_CLOEXEC));
    Require(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
    return fd;
  }
  static void* Map(const proto::Fd& fd, std::uint64_t bytes) {
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    Require(memory != MAP_FAILED);
    return memory;
  }

  proto::Fd daemon_;
  std::shared_ptr<core::Subscription> subscription_;
  proto::ReadyRing* ring_ = nullptr;
  std::array<void*, kSlots> slots_ = {};
};

void Read(const forebay_batch& batch) {
  const std::uint64_t all =
      batch.copy_bytes > 0 ? batch.copy_bytes : kSlotBytes;
  for (std::uint32_t i = 0; i < batch.header.field_count; ++i) {
    const proto::FieldLayout& field = batch.header.fields[i];
    Require(field.offset <= all && field.bytes <= all - field.offset);
    Touch(batch.data + field.offset, field.bytes);
    if (field.row_splits_offset == 0) continue;
    const std::uint64_t splits = (batch.header.sample_count + 1) * 8;
    Require(field.row_splits_offset <= all &&
            splits <= all - field.row_splits_offset);
    Touch(batch.data + field.row_splits_offset, splits);
  }
  const std::int64_t* ids = nullptr;
  if (core::SampleIds(batch, &ids).ok()) {
    Touch(reinterpret_cast<const std::uint8_t*>(ids),
          batch.header.sample_count * sizeof(*ids));
  }
}

void Take(core::Subscription& subscription) {
  std::vector<forebay_batch*> held;
  while (subscription.rings().HasEntry()) {
    const proto::ReadyEntry entry = subscription.rings().Take();
    if (entry.kind == proto::ReadyKind::kError) {
      static_cast<void>(subscription.rings().ReadError());
    } else if (entry.kind == proto::ReadyKind::kBatch) {
      forebay_batch* batch = nullptr;
      if (subscription.Lease(entry, &batch).ok()) held.push_back(batch);
    }
  }
  for (const forebay_batch* batch : held) Read(*batch);
  for (forebay_batch* batch : held) core::Subscription::Release(batch);
  Require(subscription.leases() == 0);
}

}  // namespace

// The input is the number of entries, the entries, and the content of the first
// slot, or of both slots in halves.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 1) return 0;
  const std::size_t entries = data[0] % (kMaxEntries + 1);
  const bool both = data[0] >= 128;
  ++data;
  --size;
  if (size < entries * sizeof(proto::ReadyEntry)) return 0;
  Pair pair;
  std::memcpy(pair.ring().error_text, data,
              std::min<std::size_t>(size, proto::kMaxErrorText));
  std::memcpy(&pair.ring().error_code, data, std::min<std::size_t>(size, 4));
  for (std::size_t i = 0; i < entries; ++i) {
    proto::ReadyEntry entry;
    std::memcpy(&entry, data, sizeof(entry));
    data += sizeof(entry);
    size -= sizeof(entry);
    pair.ring().entries[i] = entry;
  }
  pair.ring().tail.store(static_cast<std::uint32_t>(entries));
  const std::size_t first = both ? size / 2 : size;
  pair.Fill(0, data, std::min<std::size_t>(first, kSlotBytes));
  if (both)
    pair.Fill(1, data + first, std::min<std::size_t>(size - first, kSlotBytes));
  Take(pair.subscription());
  return 0;
}
