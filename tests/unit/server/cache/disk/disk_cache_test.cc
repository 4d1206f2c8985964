#include "server/cache/disk/disk_cache.h"

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/cache/disk/disk_house.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache::disk {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;
using tests::SizeIs;

constexpr std::uint64_t kPlenty = std::uint64_t{64} << 20;
constexpr std::uint64_t kSmallSegment = 16 * kPageBytes;
constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE("The disk cache keeps what was read over a restart",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  std::vector<storage::ReadRequest> requests;
  for (const std::size_t length : {1, 15, 16, 4096, 47'000, 3'000'000}) {
    const std::string name = "class a/ü" + std::to_string(length);
    requests.push_back(house.Request(name, house.Put(name, length)));
    CHECK(house.Text(requests.back()) == house.Truth(requests.back()));
  }
  house.Reopen();
  CHECK(house.cache().Snapshot().entries == requests.size());
  for (const storage::ReadRequest& request : requests) {
    CHECK(house.Text(request) == house.Truth(request));
    CHECK(house.below().times(request.object) == 1);
  }
  const DiskSnapshot snapshot = house.cache().Snapshot();
  CHECK(snapshot.hits.reads == requests.size());
  CHECK(snapshot.hits.bytes == 1 + 15 + 16 + 4096 + 47'000 + 3'000'000);
  CHECK(snapshot.misses.reads == 0);
  CHECK(snapshot.damaged == 0);
}

TEST_CASE("The disk cache gives back what was read while it is open",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  const auto request = house.Request("a", house.Put("a", 1000));
  house.ReadAndSettle(request);
  CHECK(house.cache().Snapshot().written.reads == 1);
  house.memory().Remove("a");
  CHECK(house.Text(request).size() == 1000);
  CHECK(house.cache().Snapshot().hits.reads == 1);
  CHECK(house.cache().Snapshot().misses.reads == 1);
}

TEST_CASE(
    "The disk cache tells extents and versions and objects and roots apart",
    "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  storage::MemorySource other;
  const auto first = house.memory().Put("a", "first");
  CHECK(house.ReadAndSettle(house.Request("a", first)) == "first");
  auto part = house.Request("a", first);
  part.offset = 1;
  part.length = 2;
  CHECK(house.ReadAndSettle(part) == "ir");
  part.length = 3;
  CHECK(house.ReadAndSettle(part) == "irs");
  const auto second = house.memory().Put("a", "other");
  CHECK(house.ReadAndSettle(house.Request("a", second)) == "other");
  house.Reopen();
  // A request for the first version still gets the first content.
  CHECK(house.Text(house.Request("a", first)) == "first");
  CHECK(house.Text(part) == "irs");
  CHECK(house.Text(house.Request("a", second)) == "other");
  CHECK_THAT(house.Text(house.Request("b", second)), Contains("NOT_FOUND"));
  auto elsewhere = house.Request("a", second);
  elsewhere.root = other.root();
  CHECK_THAT(house.Text(elsewhere), Contains("INVALID_ARGUMENT"));
  CHECK(house.below().times("a") == 4 + 1);
}

TEST_CASE("The disk cache keeps nothing of a root without a lasting identity",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  auto request = house.Request("a", house.Put("a", 10));
  request.root = storage::FakeRoot::Make({.uri = "near", .identity = "near"});
  CHECK_THAT(house.ReadAndSettle(request), Contains("INVALID_ARGUMENT"));
  request.root = nullptr;
  CHECK_THAT(house.ReadAndSettle(request), Contains("INVALID_ARGUMENT"));
  CHECK(house.cache().Snapshot().misses.reads == 0);
  CHECK_THAT(house.Segments(), IsEmpty());
}

// A source of files on another host, which does the staleness checks there.
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
  void Revalidate(const storage::ReadRequest&, storage::ByteSource&,
                  std::function<void(absl::StatusOr<storage::Revision>)> done)
      const override {
    done(absl::FailedPreconditionError("has none"));
  }
};

TEST_CASE(
    "The disk cache asks whether an object is still there where that cannot be "
    "told",
    "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  house.Close();
  Elsewhere below;
  auto cache = *DiskCache::Create({.store = {.capacity = kPlenty}},
                                  *CacheDirectory::Lock(house.path()),
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
  CHECK(read() == "content");
  CHECK(read() == "content");
  below.is_gone = true;
  CHECK(read() == "NOT_FOUND: a: is gone");
  CHECK(below.log == "rqq");
  // The source gets the layout, so that it can check after a touch whether the
  // object's layout has changed.
  CHECK_THAT(below.layouts, ElementsAre(layout, layout, layout));
  CHECK(cache->Snapshot().hits.reads == 1);
}

// On a network file system, a file may be replaced by another one of equal size
// and modification time.
TEST_CASE("The disk cache reads anew and keeps what has another revision",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  house.Close();
  Elsewhere below;
  below.revision = {.inode = 1, .ctime_nanos = 0};
  storage::Revision seen;
  std::unique_ptr<DiskCache> cache;
  const auto open = [&] {
    cache = nullptr;
    cache = *DiskCache::Create({.store = {.capacity = kPlenty}},
                               *CacheDirectory::Lock(house.path()),
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
  CHECK(read() == "content");
  CHECK(read() == "content");
  CHECK(seen == below.revision);
  below.content = "CONTENT";
  below.revision.inode = 2;
  CHECK(read() == "CONTENT");
  CHECK(seen == below.revision);
  CHECK(read() == "CONTENT");
  CHECK(below.log == "rqqrq");
  CHECK(cache->Snapshot().damaged == 0);
  // A reopened tier reads the revision from the record.
  open();
  CHECK(read() == "CONTENT");
  CHECK(seen == below.revision);
  below.content = "Content";
  below.revision.inode = 3;
  CHECK(read() == "Content");
  CHECK(below.log == "rqqrqqqr");
}

TEST_CASE("The disk cache serves no more hits once it was stopped",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  const auto request = house.Request("a", house.Put("a", 10));
  house.ReadAndSettle(request);
  house.cache().Stop();
  CHECK(house.Text(request) == "CANCELLED: a: the daemon is shutting down");
  CHECK(house.below().times("a") == 1);
}

TEST_CASE("The disk cache keeps nothing of which no version is known",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  auto request = house.Request("a", house.Put("a", 10));
  request.version.stamp = 0;
  CHECK_THAT(house.ReadAndSettle(request), Contains("FAILED_PRECONDITION"));
  CHECK(house.cache().Snapshot().misses.reads == 0);
}

TEST_CASE("The disk cache passes on what cannot be kept",
          "[disk][disk_cache]") {
  DiskHouse house(8 * kSmallSegment, kSmallSegment);
  const auto empty = house.Request("empty", house.Put("empty", 0));
  const auto huge = house.Request("huge", house.Put("huge", kSmallSegment));
  for (int i = 0; i < 2; ++i) {
    CHECK_THAT(house.ReadAndSettle(empty), Catch::Equals(""));
    CHECK(house.ReadAndSettle(huge) == house.Truth(huge));
  }
  CHECK(house.below().times("empty") == 2);
  CHECK(house.below().times("huge") == 2);
  CHECK_THAT(house.Segments(), IsEmpty());
}

TEST_CASE("The disk cache writes nothing that is never wanted again",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  house.next_use().Want(1, kNever);
  const auto request = house.Request("a", house.Put("a", 10), 1);
  house.ReadAndSettle(request);
  CHECK_THAT(house.Segments(), IsEmpty());
  CHECK(house.cache().Snapshot().refused.reads == 1);
}

TEST_CASE("The disk cache does not keep errors", "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  const auto request = house.Request("a", house.Put("a", 10));
  house.faulty().Fail("a", absl::UnavailableError("a: scripted"));
  CHECK(house.ReadAndSettle(request) == "UNAVAILABLE: a: scripted");
  CHECK(house.ReadAndSettle(request) == house.Truth(request));
}

TEST_CASE("The disk cache does not keep more than may wait",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  house.set_waiting_bytes(100'000);
  house.Reopen();
  const auto large = house.Request("large", house.Put("large", 100'000));
  const auto small = house.Request("small", house.Put("small", 10'000));
  CHECK(house.ReadAndSettle(large) == house.Truth(large));
  CHECK(house.ReadAndSettle(small) == house.Truth(small));
  CHECK(house.cache().Snapshot().refused.bytes == 100'000);
  CHECK(house.cache().Snapshot().written.reads == 1);
}

TEST_CASE("The disk cache goes on in the segment that was open",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  for (int i = 0; i < 5; ++i) {
    const std::string name = "a" + std::to_string(i);
    house.Text(house.Request(name, house.Put(name, 1000)));
    house.Reopen();
    CHECK(house.cache().Snapshot().entries == i + 1);
  }
  CHECK_THAT(house.Segments(), SizeIs(1));
}

TEST_CASE("The disk cache takes no more than its capacity",
          "[disk][disk_cache]") {
  DiskHouse house(8 * kSmallSegment, kSmallSegment);
  for (int i = 0; i < 60; ++i) {
    house.clock().Advance(1201 * kSecond);
    const std::string name = "a" + std::to_string(i);
    const auto request = house.Request(name, house.Put(name, 20'000));
    CHECK(house.ReadAndSettle(request) == house.Truth(request));
    CHECK(house.Segments().size() <= 8);
    CHECK(house.cache().Snapshot().used ==
          house.Segments().size() * kSmallSegment);
  }
  CHECK(house.cache().Snapshot().evicted.reads > 30);
}

TEST_CASE(
    "The disk cache's index takes no more than its memory however small "
    "entries are",
    "[disk][disk_cache]") {
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
  const DiskSnapshot snapshot = house.cache().Snapshot();
  CHECK(snapshot.entries <= kMax);
  CHECK(snapshot.entries > kMax / 2);
  CHECK(snapshot.refused.reads > 500);
  CHECK(snapshot.evicted.reads > 100);
}

TEST_CASE("The disk cache leaves files alone that are not its own",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  std::ofstream(house.path() + "/notes.txt") << "mine";
  std::filesystem::create_directory(house.path() + "/segment-folder");
  house.Reopen();
  CHECK(std::filesystem::exists(house.path() + "/notes.txt"));
  CHECK(std::filesystem::exists(house.path() + "/segment-folder"));
}

TEST_CASE("A directory has one disk cache at a time", "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  CHECK_THAT(house.TryOpen(), HasCode(absl::StatusCode::kAlreadyExists));
}

TEST_CASE("The disk cache counts its memory in the budget",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  CHECK(house.budget().used() > std::uint64_t{32} << 20);
  house.Close();
  CHECK(house.budget().used() == 0);
  const auto all =
      *house.budget().Reserve(DiskHouse::kMemory - (8 << 20), "a test");
  CHECK_THAT(house.TryOpen(), HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_CASE("The disk cache is not opened without threads",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  house.Close();
  {
    const base::NoThreads refused;
    CHECK_THAT(house.TryOpen(), HasCode(absl::StatusCode::kResourceExhausted));
    const ReadThreads none(2,
                           [](const ReadThreads::Read&, const PageBuffer&) {});
    CHECK_FALSE(none.has_threads());
  }
  CHECK_THAT(house.TryOpen(), IsOk());
}

TEST_CASE("The disk cache passes shares on to the source below",
          "[disk][disk_cache]") {
  DiskHouse house(kPlenty);
  house.cache().Share(5, {.job = 2, .urgency = 7});
  REQUIRE_THAT(house.below().shares(), SizeIs(1));
  CHECK(house.below().shares()[0].first == 5);
}

}  // namespace
}  // namespace forebay::cache::disk
