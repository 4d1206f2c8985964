#ifndef FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_CLIENT_H_
#define FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_CLIENT_H_

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/slots/channel.h"
#include "server/stream/stream.h"
#include "tests/catch/catch.h"

namespace forebay::stream {

// A member's client: its side of the rings, and its mappings of the slots.
class FakeClient {
 public:
  // Makes a member whose batches are on `device`, or on the host if `device` is
  // null.
  explicit FakeClient(Stream* stream, schedule::Flow flow = 1,
                      std::uint32_t depth = 0,
                      const DevicePtr& device = nullptr)
      : stream_(stream), parts_(device == nullptr ? 1 : 2) {
    channel_ = *slots::Channel::Create();
    ready_ = Map<const proto::ReadyRing>(channel_->ready_fd(), PROT_READ);
    release_ =
        Map<proto::ReleaseRing>(channel_->release_fd(), PROT_READ | PROT_WRITE);
    member_ = *stream_->Join(channel_.get(), flow, depth, device);
  }
  ~FakeClient() {
    stream_->RemoveMember(member_);
    munmap(const_cast<proto::ReadyRing*>(ready_), proto::kRingBytes);
    munmap(release_, proto::kRingBytes);
  }

  slots::MemberId member() const { return member_; }
  slots::Channel& channel() { return *channel_; }
  proto::ReleaseRing& release_ring() { return *release_; }

  absl::Status Start(std::uint64_t epoch, std::uint64_t first_sample) {
    return Start({.epoch = epoch, .first_sample = first_sample});
  }
  absl::Status Start(const EpochStart& start) {
    auto slots = stream_->Start(member_, start);
    if (!slots.ok()) return slots.status();
    slots_ = *std::move(slots);
    return absl::OkStatus();
  }
  void Stop() { stream_->Stop(member_); }

  // Starts an epoch of the samples in `list`.
  absl::Status StartListed(std::uint64_t epoch,
                           const std::shared_ptr<const base::IndexList>& list,
                           std::uint64_t first_sample = 0) {
    return Start(
        {.epoch = epoch, .first_sample = first_sample, .samples = list});
  }

  // Takes the next entry, or nullopt if there is none.
  std::optional<proto::ReadyEntry> Take() {
    if (ready_->tail.load() == taken_) return std::nullopt;
    const proto::ReadyEntry entry =
        ready_->entries[taken_++ % proto::kReadyCapacity];
    release_->taken_count.store(taken_);
    return entry;
  }
  std::string error() const { return ready_->error_text; }
  absl::StatusCode error_code() const {
    return static_cast<absl::StatusCode>(ready_->error_code);
  }

  // Returns the ids in a batch's images. Checks the batch's labels and header.
  std::vector<std::uint64_t> Read(const proto::ReadyEntry& entry) {
    const SlotSize& size = stream_->slot_size();
    const std::uint8_t* const host = MapPart(entry, 0, size.host);
    const std::uint8_t* const device =
        parts_ == 1 ? nullptr : MapPart(entry, 1, size.device);
    proto::BatchHeader header;
    std::memcpy(&header, host, sizeof(header));
    CHECK(header.magic == proto::kBatchMagic);
    CHECK(header.generation == entry.generation);
    CHECK(header.sample_count == entry.sample_count);
    CHECK(header.field_count == 3);
    const auto at = [&](const proto::FieldLayout& field) {
      return (field.place == proto::Place::kHost ? host : device) +
             field.offset;
    };
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < header.sample_count; ++i) {
      std::uint64_t pixels[2];
      std::int64_t label;
      std::int64_t id;
      std::memcpy(pixels, at(header.fields[0]) + 16 * i, 16);
      std::memcpy(&label, at(header.fields[1]) + 8 * i, 8);
      std::memcpy(&id, at(header.fields[2]) + 8 * i, 8);
      CHECK(pixels[0] == static_cast<std::uint64_t>(id));
      CHECK(pixels[1] == entry.epoch);
      CHECK(label == 10 * id);
      ids.push_back(pixels[0]);
    }
    munmap(const_cast<std::uint8_t*>(host), size.host);
    if (device != nullptr)
      munmap(const_cast<std::uint8_t*>(device), size.device);
    return ids;
  }

  absl::Status Release(const proto::ReadyEntry& entry) {
    ReleaseUntold(entry);
    return stream_->TakeReleases(member_);
  }
  // Releases a batch without telling the stream. While the stream looks at the
  // ring, it finds the release by itself.
  void ReleaseUntold(const proto::ReadyEntry& entry) {
    release_->Push({.slot = entry.slot, .generation = entry.generation});
  }
  // Tells the stream that this client takes no more entries.
  void LeaveUntaken() { release_->left.store(1); }
  bool looked_at() const { return ready_->looking.load() != 0; }

 private:
  // Maps a part of the entry's slot. Requests slots that were made since the
  // epoch began.
  const std::uint8_t* MapPart(const proto::ReadyEntry& entry, std::size_t part,
                              std::uint64_t bytes) {
    while (parts_ * entry.slot >= slots_.size()) {
      auto more = stream_->SlotsFrom(
          member_, static_cast<std::uint32_t>(slots_.size() / parts_));
      CHECK((more.ok() && !more->empty()));
      for (base::Fd& fd : *more) slots_.push_back(std::move(fd));
    }
    return static_cast<const std::uint8_t*>(
        mmap(nullptr, bytes, PROT_READ, MAP_SHARED,
             slots_[parts_ * entry.slot + part].get(), 0));
  }
  template <typename T>
  static T* Map(int fd, int protection) {
    return static_cast<T*>(
        mmap(nullptr, proto::kRingBytes, protection, MAP_SHARED, fd, 0));
  }

  Stream* const stream_;
  const std::size_t parts_;  // descriptors of each slot, one for each part
  std::unique_ptr<slots::Channel> channel_;
  std::vector<base::Fd> slots_;
  const proto::ReadyRing* ready_ = nullptr;
  proto::ReleaseRing* release_ = nullptr;
  slots::MemberId member_ = 0;
  std::uint32_t taken_ = 0;
};

}  // namespace forebay::stream

#endif  // FOREBAY_TESTS_UNIT_SERVER_STREAM_FAKE_CLIENT_H_
