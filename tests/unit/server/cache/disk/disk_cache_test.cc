#include "server/cache/disk/disk_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/cache/disk/disk_house.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache::disk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kPlenty = std::uint64_t{64} << 20;
constexpr std::uint64_t kSmallSegment = 16 * kPageBytes;
constexpr std::int64_t kSecond = 1'000'000'000;

TEST(DiskCacheTest, KeepsWhatWasReadOverARestart) {
  DiskHouse house(kPlenty);
  std::vector<storage::ReadRequest> requests;
  for (const std::size_t length : {1, 15, 16, 4096, 47'000, 3'000'000}) {
    const std::string name = "class a/ü" + std::to_string(length);
    requests.push_back(house.Request(name, house.Put(name, length)));
    EXPECT_EQ(house.Text(requests.back()), house.Truth(requests.back()));
  }
  house.Reopen();
  EXPECT_EQ(house.cache().Snapshot().entries, requests.size());
  for (const storage::ReadRequest& request : requests) {
    EXPECT_EQ(house.Text(request), house.Truth(request));
    EXPECT_EQ(house.below().times(request.object), 1);
  }
  const Snapshot snapshot = house.cache().Snapshot();
  EXPECT_EQ(snapshot.hits.reads, requests.size());
  EXPECT_EQ(snapshot.hits.bytes, 1 + 15 + 16 + 4096 + 47'000 + 3'000'000);
  EXPECT_EQ(snapshot.misses.reads, 0);
  EXPECT_EQ(snapshot.damaged, 0);
}

TEST(DiskCacheTest, GivesItBackWhileItIsOpen) {
  DiskHouse house(kPlenty);
  const auto request = house.Request("a", house.Put("a", 1000));
  house.ReadAndSettle(request);
  EXPECT_EQ(house.cache().Snapshot().written.reads, 1);
  house.memory().Remove("a");
  EXPECT_EQ(house.Text(request).size(), 1000);
  EXPECT_EQ(house.cache().Snapshot().hits.reads, 1);
  EXPECT_EQ(house.cache().Snapshot().misses.reads, 1);
}

TEST(DiskCacheTest, TellsExtentsVersionsObjectsAndRootsApart) {
  DiskHouse house(kPlenty);
  storage::MemorySource other;
  const auto first = house.memory().Put("a", "first");
  EXPECT_EQ(house.ReadAndSettle(house.Request("a", first)), "first");
  auto part = house.Request("a", first);
  part.offset = 1;
  part.length = 2;
  EXPECT_EQ(house.ReadAndSettle(part), "ir");
  part.length = 3;
  EXPECT_EQ(house.ReadAndSettle(part), "irs");
  const auto second = house.memory().Put("a", "other");
  EXPECT_EQ(house.ReadAndSettle(house.Request("a", second)), "other");
  house.Reopen();
  // The first version is found by its version.
  EXPECT_EQ(house.Text(house.Request("a", first)), "first");
  EXPECT_EQ(house.Text(part), "irs");
  EXPECT_EQ(house.Text(house.Request("a", second)), "other");
  EXPECT_THAT(house.Text(house.Request("b", second)), HasSubstr("NOT_FOUND"));
  auto elsewhere = house.Request("a", second);
  elsewhere.root = other.root();
  EXPECT_THAT(house.Text(elsewhere), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(house.below().times("a"), 4 + 1);
}

TEST(DiskCacheTest, KeepsNothingOfARootWithoutALastingIdentity) {
  DiskHouse house(kPlenty);
  auto request = house.Request("a", house.Put("a", 10));
  request.root = storage::FakeRoot::Make({.uri = "near", .identity = "near"});
  EXPECT_THAT(house.ReadAndSettle(request), HasSubstr("INVALID_ARGUMENT"));
  request.root = nullptr;
  EXPECT_THAT(house.ReadAndSettle(request), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(house.cache().Snapshot().misses.reads, 0);
  EXPECT_THAT(house.Segments(), IsEmpty());
}

// Files of another host, which must be checked at the source.
class Elsewhere final : public storage::ByteSource {
 public:
  static std::shared_ptr<const storage::Root> Root() {
    return storage::FakeRoot::Make(
        {.uri = "far", .lasting_identity = "far", .still_has = false});
  }

  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& taken : requests) {
      const storage::ReadRequest request = std::move(taken);
      log += request.length == 0 ? 'q' : 'r';
      layouts.push_back(request.layout);
      if (is_gone) {
        request.done(absl::NotFoundError("a: is gone"));
      } else {
        const auto* text = reinterpret_cast<const std::uint8_t*>(content);
        request.done(storage::ReadResult{
            .bytes = base::Bytes(nullptr, {text, request.length}),
            .revision = revision});
      }
    }
  }

  std::string log;
  std::vector<std::shared_ptr<const storage::ObjectLayout>> layouts;
  bool is_gone = false;
  const char* content = "content";
  storage::Revision revision;
};

class NoLayout final : public storage::ObjectLayout {
 public:
  void LookAgain(const storage::ReadRequest&, storage::ByteSource&,
                 std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override {
    done(absl::FailedPreconditionError("has none"));
  }
};

TEST(DiskCacheTest, AsksWhetherItIsStillThereWhereThatCannotBeTold) {
  DiskHouse house(kPlenty);
  house.Close();
  Elsewhere below;
  auto cache = *DiskCache::Create({.store = {.capacity = kPlenty}},
                                  *Directory::Lock(house.path()),
                                  {.below = &below,
                                   .budget = &house.budget(),
                                   .next_use = &house.next_use(),
                                   .clock = &house.clock()});
  const auto layout = std::make_shared<const NoLayout>();
  const auto read = [&] {
    storage::ReadRequest request;
    request.root = Elsewhere::Root();
    request.object = "a";
    request.version = {7, 1};
    request.length = 7;
    request.layout = layout;
    std::promise<std::string> text;
    request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
      text.set_value(CacheHouse::TextOf(result));
    };
    cache->Read({&request, 1});
    while (cache->Snapshot().waiting > 0) std::this_thread::yield();
    return text.get_future().get();
  };
  EXPECT_EQ(read(), "content");
  EXPECT_EQ(read(), "content");
  below.is_gone = true;
  EXPECT_EQ(read(), "NOT_FOUND: a: is gone");
  EXPECT_EQ(below.log, "rqq");
  // If the object was touched, the source can check whether its layout changed.
  EXPECT_THAT(below.layouts, ElementsAre(layout, layout, layout));
  EXPECT_EQ(cache->Snapshot().hits.reads, 1);
}

// A file on a network file system may be replaced by another of equal size and
// time.
TEST(DiskCacheTest, WhatHasAnotherRevisionIsReadAnewAndKept) {
  DiskHouse house(kPlenty);
  house.Close();
  Elsewhere below;
  below.revision = {.inode = 1, .ctime_nanos = 0};
  storage::Revision seen;
  std::unique_ptr<DiskCache> cache;
  const auto open = [&] {
    cache = nullptr;
    cache = *DiskCache::Create({.store = {.capacity = kPlenty}},
                               *Directory::Lock(house.path()),
                               {.below = &below,
                                .budget = &house.budget(),
                                .next_use = &house.next_use(),
                                .clock = &house.clock()});
  };
  const auto read = [&] {
    storage::ReadRequest request;
    request.root = Elsewhere::Root();
    request.object = "a";
    request.version = {7, 1};
    request.length = 7;
    std::promise<std::string> text;
    request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
      seen = result->revision;
      text.set_value(CacheHouse::TextOf(result));
    };
    cache->Read({&request, 1});
    std::string given = text.get_future().get();
    while (cache->Snapshot().waiting > 0) std::this_thread::yield();
    return given;
  };
  open();
  EXPECT_EQ(read(), "content");
  EXPECT_EQ(read(), "content");
  EXPECT_EQ(seen, below.revision);
  below.content = "CONTENT";
  below.revision.inode = 2;
  EXPECT_EQ(read(), "CONTENT");
  EXPECT_EQ(seen, below.revision);
  EXPECT_EQ(read(), "CONTENT");
  EXPECT_EQ(below.log, "rqqrq");
  EXPECT_EQ(cache->Snapshot().damaged, 0);
  // The record tells the revision, whoever wrote it.
  open();
  EXPECT_EQ(read(), "CONTENT");
  EXPECT_EQ(seen, below.revision);
  below.content = "Content";
  below.revision.inode = 3;
  EXPECT_EQ(read(), "Content");
  EXPECT_EQ(below.log, "rqqrqqqr");
}

TEST(DiskCacheTest, ServesNoMoreHitsOnceItWasStopped) {
  DiskHouse house(kPlenty);
  const auto request = house.Request("a", house.Put("a", 10));
  house.ReadAndSettle(request);
  house.cache().Stop();
  EXPECT_EQ(house.Text(request), "CANCELLED: a: the daemon is shutting down");
  EXPECT_EQ(house.below().times("a"), 1);
}

TEST(DiskCacheTest, KeepsNothingOfWhichNoVersionIsKnown) {
  DiskHouse house(kPlenty);
  auto request = house.Request("a", house.Put("a", 10));
  request.version.stamp = 0;
  EXPECT_THAT(house.ReadAndSettle(request), HasSubstr("FAILED_PRECONDITION"));
  EXPECT_EQ(house.cache().Snapshot().misses.reads, 0);
}

TEST(DiskCacheTest, PassesOnWhatCannotBeKept) {
  DiskHouse house(8 * kSmallSegment, kSmallSegment);
  const auto empty = house.Request("empty", house.Put("empty", 0));
  const auto huge = house.Request("huge", house.Put("huge", kSmallSegment));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(house.ReadAndSettle(empty), "");
    EXPECT_EQ(house.ReadAndSettle(huge), house.Truth(huge));
  }
  EXPECT_EQ(house.below().times("empty"), 2);
  EXPECT_EQ(house.below().times("huge"), 2);
  EXPECT_THAT(house.Segments(), IsEmpty());
}

TEST(DiskCacheTest, WritesNothingThatIsNeverWantedAgain) {
  DiskHouse house(kPlenty);
  house.next_use().Want(1, kNever);
  const auto request = house.Request("a", house.Put("a", 10), 1);
  house.ReadAndSettle(request);
  EXPECT_THAT(house.Segments(), IsEmpty());
  EXPECT_EQ(house.cache().Snapshot().refused.reads, 1);
}

TEST(DiskCacheTest, ErrorsAreNotKept) {
  DiskHouse house(kPlenty);
  const auto request = house.Request("a", house.Put("a", 10));
  house.faulty().Fail("a", absl::UnavailableError("a: scripted"));
  EXPECT_EQ(house.ReadAndSettle(request), "UNAVAILABLE: a: scripted");
  EXPECT_EQ(house.ReadAndSettle(request), house.Truth(request));
}

TEST(DiskCacheTest, MoreThanMayWaitIsNotKept) {
  DiskHouse house(kPlenty);
  house.set_waiting_bytes(100'000);
  house.Reopen();
  const auto large = house.Request("large", house.Put("large", 100'000));
  const auto small = house.Request("small", house.Put("small", 10'000));
  EXPECT_EQ(house.ReadAndSettle(large), house.Truth(large));
  EXPECT_EQ(house.ReadAndSettle(small), house.Truth(small));
  EXPECT_EQ(house.cache().Snapshot().refused.bytes, 100'000);
  EXPECT_EQ(house.cache().Snapshot().written.reads, 1);
}

TEST(DiskCacheTest, GoesOnInTheSegmentThatWasOpen) {
  DiskHouse house(kPlenty);
  for (int i = 0; i < 5; ++i) {
    const std::string name = "a" + std::to_string(i);
    house.Text(house.Request(name, house.Put(name, 1000)));
    house.Reopen();
    EXPECT_EQ(house.cache().Snapshot().entries, i + 1);
  }
  EXPECT_THAT(house.Segments(), SizeIs(1));
}

TEST(DiskCacheTest, TakesNoMoreThanItsCapacity) {
  DiskHouse house(8 * kSmallSegment, kSmallSegment);
  for (int i = 0; i < 60; ++i) {
    house.clock().Advance(1201 * kSecond);
    const std::string name = "a" + std::to_string(i);
    const auto request = house.Request(name, house.Put(name, 20'000));
    EXPECT_EQ(house.ReadAndSettle(request), house.Truth(request));
    EXPECT_LE(house.Segments().size(), 8);
    EXPECT_EQ(house.cache().Snapshot().used,
              house.Segments().size() * kSmallSegment);
  }
  EXPECT_GT(house.cache().Snapshot().evicted.reads, 30);
}

TEST(DiskCacheTest, ItsIndexTakesNoMoreThanItsMemoryHoweverSmallEntriesAre) {
  DiskHouse house(kPlenty);
  constexpr std::uint64_t kMax = (256 << 10) / Index::kEntryBytes;
  const auto version = house.Put("a", 8000);
  for (std::uint64_t offset = 0; offset < 8000; ++offset) {
    if (offset == 6000) {
      house.Settle();
      house.clock().Advance(1201 * kSecond);
    }
    auto request = house.Request("a", version);
    request.offset = offset;
    request.length = 1;
    house.Text(request);
  }
  house.Settle();
  const Snapshot snapshot = house.cache().Snapshot();
  EXPECT_LE(snapshot.entries, kMax);
  EXPECT_GT(snapshot.entries, kMax / 2);
  EXPECT_GT(snapshot.refused.reads, 500);
  EXPECT_GT(snapshot.evicted.reads, 100);
}

TEST(DiskCacheTest, LeavesFilesAloneThatAreNotItsOwn) {
  DiskHouse house(kPlenty);
  std::ofstream(house.path() + "/notes.txt") << "mine";
  std::filesystem::create_directory(house.path() + "/segment-folder");
  house.Reopen();
  EXPECT_TRUE(std::filesystem::exists(house.path() + "/notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(house.path() + "/segment-folder"));
}

TEST(DiskCacheTest, OneAtATime) {
  DiskHouse house(kPlenty);
  EXPECT_EQ(house.TryOpen().status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(DiskCacheTest, CountsItsMemory) {
  DiskHouse house(kPlenty);
  EXPECT_GT(house.budget().used(), std::uint64_t{32} << 20);
  house.Close();
  EXPECT_EQ(house.budget().used(), 0);
  const auto all =
      *house.budget().Reserve(DiskHouse::kMemory - (8 << 20), "a test");
  EXPECT_EQ(house.TryOpen().status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(DiskCacheTest, PassesSharesOn) {
  DiskHouse house(kPlenty);
  house.cache().Share(5, {.job = 2, .urgency = 7});
  ASSERT_THAT(house.below().shares(), SizeIs(1));
  EXPECT_EQ(house.below().shares()[0].first, 5);
}

}  // namespace
}  // namespace forebay::cache::disk
