#include "server/cache/disk/store_state.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/base/clock.h"
#include "server/cache/disk/segment_format.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/cache/cache_house.h"

namespace forebay::cache::disk {
namespace {

constexpr std::uint64_t kSegment = std::uint64_t{1} << 20;
constexpr std::int64_t kSecond = 1'000'000'000;

class StoreStateTest {
 protected:
  static StoreEntry EntryAt(std::uint64_t offset) {
    const auto bytes = std::make_shared<std::vector<std::uint8_t>>(100);
    StoreEntry entry;
    entry.root = std::make_shared<const std::string>("root");
    entry.object = "object";
    entry.offset = offset;
    entry.bytes = base::Bytes(bytes, *bytes);
    return entry;
  }
  std::shared_ptr<const SegmentFile> NewFile() {
    return std::make_shared<const SegmentFile>(
        SegmentFile{base::Fd(), ++serial_, kSegment});
  }
  // Publishes the record of an entry in the open segment.
  void Publish(const StoreEntry& entry) {
    const RecordLocation location{.fingerprint = FingerprintOf(entry.key()),
                                  .offset = kPageBytes,
                                  .bytes = 200};
    state_.Publish({&location, 1}, {&entry.sample, 1});
  }

  ScriptedNextUse next_use_;
  base::FakeClock clock_;
  std::uint64_t serial_ = 0;
  StoreState state_{{.capacity = 2 * kSegment,
                     .segment_bytes = kSegment,
                     .seed = 1,
                     .path = "/tier"},
                    &next_use_,
                    &clock_};
};

TEST_CASE_METHOD(StoreStateTest, "A record is found once it is published",
                 "[disk][store_state]") {
  const StoreEntry entry = EntryAt(0);
  CHECK(state_.Accepts(entry));
  state_.Open(NewFile());
  CHECK_FALSE(state_.Find(entry.key(), {}).has_value());
  Publish(entry);
  const auto found = state_.Find(entry.key(), {});
  REQUIRE(found.has_value());
  UNSCOPED_INFO("it is stored already");
  CHECK_FALSE(state_.Accepts(entry));
  CHECK(state_.Snapshot().refused.reads == 0);
  state_.CountRead(*found, 100, absl::DataLossError("damaged"));
  CHECK_FALSE(state_.Find(entry.key(), {}).has_value());
  CHECK(state_.Snapshot().damaged == 1);
}

TEST_CASE_METHOD(StoreStateTest, "A full tier needs an eviction",
                 "[disk][store_state]") {
  for (std::uint64_t i = 0; i < 2; ++i) {
    CHECK(state_.CheckSpace() == StoreState::Space::kFree);
    state_.Open(NewFile());
    Publish(EntryAt(i));
    state_.SealOpen();
  }
  CHECK(state_.Snapshot().used == 2 * kSegment);
  CHECK(state_.CheckSpace() == StoreState::Space::kNeedsEviction);
  const auto evicted = state_.Evict();
  REQUIRE(evicted.has_value());
  CHECK(evicted->removed.locations.size() == 1);
  CHECK(state_.CheckSpace() == StoreState::Space::kNeedsEviction);
  state_.FileRemoved(kSegment);
  CHECK(state_.CheckSpace() == StoreState::Space::kFree);
}

TEST_CASE_METHOD(StoreStateTest, "A failed write stops the writes for a second",
                 "[disk][store_state]") {
  state_.Open(NewFile());
  Publish(EntryAt(0));
  state_.CountFailedWrite("no");
  CHECK(state_.CheckSpace() == StoreState::Space::kDiskIsOff);
  CHECK_FALSE(state_.Accepts(EntryAt(1)));
  CHECK(state_.Snapshot().refused.reads == 1);
  CHECK(state_.Snapshot().off);
  UNSCOPED_INFO("what is stored can be read");
  CHECK(state_.Find(EntryAt(0).key(), {}).has_value());
  clock_.Advance(kSecond);
  CHECK(state_.CheckSpace() == StoreState::Space::kFree);
}

TEST_CASE_METHOD(StoreStateTest,
                 "An abandoned segment without records is removed",
                 "[disk][store_state]") {
  const auto empty = NewFile();
  state_.Open(empty);
  CHECK(state_.AbandonOpen() == empty);
  state_.Open(NewFile());
  Publish(EntryAt(0));
  CHECK(state_.AbandonOpen() == nullptr);
  CHECK(state_.Find(EntryAt(0).key(), {}).has_value());
}

}  // namespace
}  // namespace forebay::cache::disk
