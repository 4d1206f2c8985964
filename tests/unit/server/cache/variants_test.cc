// Tests of variants, which readers made and which are cached beside the
// original bytes.

#include <cstring>
#include <string>

#include "server/cache/cache.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/cache/cache_house.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::cache {
namespace {

using tests::Contains;

constexpr std::uint64_t kPlenty = 1 << 20;
constexpr storage::Variant kUpper = 7;
constexpr std::int64_t kSaves = 1'000'000;

// Reads with a preference for `variant`. Returns the text and its variant.
std::pair<std::string, storage::Variant> ReadAs(
    CacheHouse& house, storage::ReadRequest request,
    storage::Variant variant = kUpper) {
  request.variant = variant;
  const auto result = house.Read(std::move(request));
  if (!result.has_value()) return {"no answer yet", 99};
  return {CacheHouse::TextOf(*result),
          result->ok() ? (*result)->variant : storage::kEncoded};
}

bool Offer(CacheHouse& house, const storage::ReadRequest& read,
           const std::string& text, std::int64_t costs_nanos = 0,
           storage::Variant variant = kUpper) {
  auto buffer = house.cache().Reserve({.read = &read,
                                       .revision = {},
                                       .variant = variant,
                                       .bytes = text.size(),
                                       .saves_nanos = kSaves,
                                       .costs_nanos = costs_nanos});
  if (buffer == nullptr) return false;
  CHECK(buffer->span().size() == text.size());
  std::memcpy(buffer->span().data(), text.data(), text.size());
  house.cache().Insert(std::move(buffer));
  return true;
}

storage::ReadRequest Sample(CacheHouse& house, const std::string& name,
                            std::uint64_t sample) {
  auto request = house.Request(name, house.memory().Put(name, "content"));
  request.sample = {1, sample};
  return request;
}

TEST_CASE("Cached variants evict one another within their part of the cache",
          "[cache][variants]") {
  constexpr std::size_t kBytes = 40'000;
  constexpr std::uint64_t kPart = 450'000;  // bytes of ten variants, in all
  constexpr std::uint64_t kSamples = 40;
  CacheHouse house(4 * kPlenty, kPart);
  CHECK(house.cache().variant_capacity() == kPart);
  storage::ReadRequest last;
  // Samples with higher numbers are wanted sooner.
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    house.next_use().Want(i, static_cast<std::int64_t>(1'000'000 * (99 - i)));
    last = Sample(house, "sample " + std::to_string(i), i);
    house.Text(last);
    CAPTURE(i);
    CHECK(Offer(house, last, std::string(kBytes, 'x')));
  }
  const auto snapshot = house.cache().Snapshot();
  CHECK(snapshot.decoded.entry_bytes <= kPart);
  CHECK(snapshot.decoded.entries >= 5);
  // The original bytes fill all other memory, and stay cached.
  CHECK(snapshot.entries - snapshot.decoded.entries == kSamples);
  CHECK(ReadAs(house, last).second == kUpper);
  // A variant that is wanted later than all others is not cached, although the
  // cache has plenty of memory.
  house.next_use().Want(99, 999'000'000);
  const auto late = Sample(house, "late", 99);
  CHECK_FALSE(Offer(house, late, std::string(kBytes, 'x')));
  CHECK_FALSE(Offer(house, last, std::string(kPart + 1, 'x'), 0, kUpper + 1));
}

using Answer = std::pair<std::string, storage::Variant>;

TEST_CASE("Cached variants are given to readers that accept them",
          "[cache][variants]") {
  CacheHouse house(kPlenty);
  const auto request = Sample(house, "a", 1);
  house.next_use().Want(1, 1'000);
  CHECK(ReadAs(house, request) == Answer("content", storage::kEncoded));
  REQUIRE(Offer(house, request, "CONTENT!"));
  CHECK(ReadAs(house, request) == Answer("CONTENT!", kUpper));
  CHECK(ReadAs(house, request, 8) == Answer("content", storage::kEncoded));
  CHECK(house.Text(request) == "content");
  CHECK(house.below().times("a") == 1);

  const CacheSnapshot snapshot = house.cache().Snapshot();
  CHECK(snapshot.entries == 2u);
  CHECK(snapshot.decoded.entries == 1u);
  CHECK(snapshot.decoded.entry_bytes < snapshot.entry_bytes);
  CHECK(snapshot.decoded.made == 1u);
  CHECK(snapshot.decoded.hits == 1u);
  CHECK(snapshot.decoded.saved_nanos == kSaves);
  // Whatever the variant, a hit counts the bytes that the source has.
  CHECK(snapshot.total.memory.reads == 3u);
  CHECK(snapshot.total.memory.bytes == 3 * std::strlen("content"));
}

TEST_CASE("A variant is cached once and not where its root is nameless",
          "[cache][variants]") {
  CacheHouse house(kPlenty);
  const auto request = Sample(house, "a", 1);
  house.next_use().Want(1, 1'000);
  auto first = house.cache().Reserve({.read = &request,
                                      .revision = {},
                                      .variant = kUpper,
                                      .bytes = 1,
                                      .saves_nanos = 1});
  REQUIRE(first != nullptr);
  first->span()[0] = '1';
  // Two readers may make the same variant at the same time. Only one copy is
  // cached.
  REQUIRE(Offer(house, request, "2"));
  house.cache().Insert(std::move(first));
  CHECK(ReadAs(house, request) == Answer("2", kUpper));
  CHECK_FALSE(Offer(house, request, "3"));
  CHECK(house.cache().Snapshot().decoded.entries == 1u);
  const std::uint64_t used = house.cache().Snapshot().used;
  auto nameless = request;
  nameless.root = storage::FakeRoot::Make({.uri = "nameless"});
  CHECK_FALSE(Offer(house, nameless, "4"));
  CHECK(house.cache().Snapshot().used == used);
}

TEST_CASE("A variant's unused buffer is freed", "[cache][variants]") {
  CacheHouse house(kPlenty);
  const auto request = Sample(house, "a", 1);
  house.next_use().Want(1, 1'000);
  auto buffer = house.cache().Reserve({.read = &request,
                                       .revision = {},
                                       .variant = kUpper,
                                       .bytes = 5'000,
                                       .saves_nanos = kSaves});
  REQUIRE(buffer != nullptr);
  CHECK(house.cache().Snapshot().used >= 5'000u);
  buffer.reset();
  CHECK(house.cache().Snapshot().used == 0u);
  CHECK(ReadAs(house, request).second == storage::kEncoded);
}

TEST_CASE("Cached variants never take more than the cache's capacity",
          "[cache][variants]") {
  CacheHouse house(200'000);
  const std::string variant(30'000, 'x');
  int kept = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    house.next_use().Want(i, 1'000'000 - 1'000 * static_cast<std::int64_t>(i));
    kept += Offer(house, Sample(house, std::to_string(i), i), variant);
    CHECK(house.cache().Snapshot().used <= 200'000u);
  }
  // Each variant is wanted sooner than all earlier ones. A few are still
  // rejected, but not by a random draw.
  CHECK(kept > 30);
  CHECK(house.cache().Snapshot().evicted.reads > 25u);
  CHECK_FALSE(
      Offer(house, Sample(house, "huge", 1), std::string(200'001, 'x')));
}

TEST_CASE(
    "A variant wanted later displaces nobody and an unwanted variant is not "
    "kept",
    "[cache][variants]") {
  CacheHouse house(100'000);
  const std::string variant(30'000, 'x');
  house.next_use().Want(50, kNever);
  CHECK_FALSE(Offer(house, Sample(house, "50", 50), variant));
  for (std::uint64_t i = 0; i < 10; ++i) {
    house.next_use().Want(i, 1'000 + static_cast<std::int64_t>(i));
    CAPTURE(i);
    CHECK(Offer(house, Sample(house, std::to_string(i), i), variant) ==
          (i < 2));
  }
  CHECK(house.cache().Snapshot().evicted.reads == 0u);
}

TEST_CASE("A rejected offer of a variant evicts no variant",
          "[cache][variants]") {
  CacheHouse house(kPlenty, 60'000);
  const auto late = Sample(house, "late", 1);
  const auto soon = Sample(house, "soon", 2);
  const auto between = Sample(house, "between", 3);
  house.next_use().Want(1, 9'000);
  house.next_use().Want(2, 1'000);
  house.next_use().Want(3, 2'000);
  REQUIRE(Offer(house, late, std::string(10'000, 'l')));
  REQUIRE(Offer(house, soon, std::string(30'000, 's')));
  // To evict the one sample that is wanted later would not free 45 kB.
  CHECK_FALSE(Offer(house, between, std::string(45'000, 'b')));
  CHECK(ReadAs(house, late).second == kUpper);
  CHECK(ReadAs(house, soon).second == kUpper);
  CHECK(Offer(house, between, std::string(10'000, 'b')));
  CHECK(ReadAs(house, late).second == storage::kEncoded);
}

TEST_CASE(
    "A variant's offer that is rejected among all entries evicts no variant",
    "[cache][variants]") {
  CacheHouse house(395'000, 150'000);
  const auto late = Sample(house, "late", 1);
  house.next_use().Want(1, 900'000'000);
  REQUIRE(Offer(house, late, std::string(60'000, 'l')));
  // Samples that are wanted at once fill the rest of the memory.
  for (std::uint64_t i = 10; i < 14; ++i) {
    const std::string name = std::to_string(i);
    house.next_use().Want(i, 1);
    auto request =
        house.Request(name, house.memory().Put(name, std::string(60'000, 'r')));
    request.sample = {1, i};
    house.Text(request);
  }
  REQUIRE(house.cache().Snapshot().used > 380'000u);
  house.next_use().Want(2, 1'000'000);
  const auto request = house.Request("2", {7, 1});
  auto offered = request;
  offered.sample = {1, 2};
  CHECK_FALSE(Offer(house, offered, std::string(95'000, 'x')));
  CHECK(ReadAs(house, late).second == kUpper);
}

TEST_CASE("Cached variants make way for bytes that save more",
          "[cache][variants]") {
  CacheHouse house(100'000);
  house.next_use().Want(1, 1'000'000'000);
  const auto late = Sample(house, "1", 1);
  REQUIRE(Offer(house, late, std::string(80'000, 'x')));
  house.next_use().Want(2, 1'000);
  auto soon =
      house.Request("2", house.memory().Put("2", std::string(40'000, 'y')));
  soon.sample = {1, 2};
  CHECK(ReadAs(house, soon).second == storage::kEncoded);
  CHECK(house.cache().Snapshot().decoded.entries == 0u);
  CHECK(house.cache().Snapshot().entries == 1u);
  CHECK(ReadAs(house, late) == Answer("content", storage::kEncoded));
}

TEST_CASE("Cached variants are gone once they are dropped",
          "[cache][variants]") {
  CacheHouse house(kPlenty);
  const auto request = Sample(house, "a", 1);
  house.next_use().Want(1, 1'000);
  CHECK(ReadAs(house, request).second == storage::kEncoded);
  const std::uint64_t used = house.cache().Snapshot().used;
  REQUIRE(Offer(house, request, "CONTENT!"));
  house.cache().Drop(request, kUpper + 1);
  CHECK(ReadAs(house, request).second == kUpper);
  house.cache().Drop(request, kUpper);
  CHECK(ReadAs(house, request) == Answer("content", storage::kEncoded));
  CHECK(house.cache().Snapshot().used == used);
  CHECK(house.cache().Snapshot().decoded.entries == 0u);
}

// The cache has the original bytes of "a" and "b", and a variant of "a". Sample
// "a" is wanted soon.
class CoveredTest {
 protected:
  static constexpr std::size_t kRead = 50'000;
  static constexpr std::size_t kVariant = 10'000;

  CoveredTest() : house_(210'000, 2 * kVariant) {
    house_.Text(a_);
    house_.Text(b_);
    CHECK(Offer(house_, a_, std::string(kVariant, 'A')));
  }

  storage::ReadRequest Put(const std::string& name, std::uint64_t sample,
                           std::size_t bytes) {
    house_.next_use().Want(sample, 1'000 * static_cast<std::int64_t>(sample));
    auto request = house_.Request(
        name, house_.memory().Put(name, std::string(bytes, 'x')));
    request.sample = {1, sample};
    return request;
  }
  // Returns whether the sample's original bytes are cached.
  bool HasRead(const storage::ReadRequest& request) {
    const auto before = house_.below().times(request.object);
    house_.Text(request);
    return house_.below().times(request.object) == before;
  }

  CacheHouse house_;
  const storage::ReadRequest a_ = Put("a", 1, kRead);
  const storage::ReadRequest b_ = Put("b", 2, kRead);
  // Sample "c" does not fit beside "a" and "b", and is wanted after them.
  const storage::ReadRequest c_ = Put("c", 3, 90'000);
};

TEST_CASE_METHOD(CoveredTest,
                 "Bytes that a cached variant covers are evicted first",
                 "[cache][variants]") {
  house_.Text(c_);
  CHECK(ReadAs(house_, a_).second == kUpper);
  CHECK(HasRead(c_));
  CHECK(HasRead(b_));
  CHECK_FALSE(HasRead(a_));
}

TEST_CASE_METHOD(CoveredTest,
                 "Bytes stay cached for readers that do not accept the variant",
                 "[cache][variants]") {
  CHECK(HasRead(a_));
  house_.Text(c_);
  CHECK(HasRead(a_));
  CHECK(HasRead(b_));
  CHECK_FALSE(HasRead(c_));
}

TEST_CASE_METHOD(CoveredTest, "Bytes stay cached once their variant is evicted",
                 "[cache][variants]") {
  const auto sooner = Put("d", 0, 100);
  REQUIRE(Offer(house_, sooner, std::string(kVariant, 'D')));
  REQUIRE(house_.cache().Snapshot().decoded.entries == 1);
  house_.Text(c_);
  CHECK(HasRead(a_));
  CHECK(HasRead(b_));
  CHECK_FALSE(HasRead(c_));
}

// A source that replaces each request's root by its own.
class RootedSource final : public storage::ByteSource {
 public:
  RootedSource(storage::ByteSource* inner,
               std::shared_ptr<const storage::Root> root)
      : inner_(inner), root_(std::move(root)) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) request.root = root_;
    inner_->Read(requests);
  }

 private:
  storage::ByteSource* const inner_;
  const std::shared_ptr<const storage::Root> root_;
};

TEST_CASE(
    "Cached variants are given out only while their object is what it was",
    "[cache][variants]") {
  storage::MemorySource memory;
  RootedSource source(&memory, memory.root());
  base::MemoryBudget budget(kPlenty);
  base::FakeClock clock;
  ScriptedNextUse next_use;
  next_use.Want(1, 1'000);
  const auto cache =
      *Cache::Create({.capacity = kPlenty, .seed = 1}, {.below = &source,
                                                        .budget = &budget,
                                                        .next_use = &next_use,
                                                        .clock = &clock});
  storage::ReadRequest request;
  // A root that cannot tell whether an object has changed.
  request.root =
      storage::FakeRoot::Make({.uri = memory.root()->uri(),
                               .identity = *memory.root()->identity(),
                               .still_has = false});
  request.object = "a";
  request.version = memory.Put("a", "content");
  request.length = request.version.size;
  request.sample = {1, 1};
  auto buffer = cache->Reserve({.read = &request,
                                .revision = {},
                                .variant = kUpper,
                                .bytes = 3,
                                .saves_nanos = kSaves});
  std::memcpy(buffer->span().data(), "ABC", 3);
  cache->Insert(std::move(buffer));
  storage::ReadResult given;
  request.variant = kUpper;
  const auto read = [&] {
    std::string log;
    auto asked = request;
    asked.done = Into(&log, "a", &given);
    cache->Read({&asked, 1});
    return log;
  };
  CHECK(read() == "a:ABC ");
  CHECK(given.variant == kUpper);
  CHECK(cache->Snapshot().decoded.hits == 1u);
  CHECK(cache->Snapshot().total.source.reads == 0u);
  memory.Put("a", "changed");
  CHECK_THAT(read(), Contains("FAILED_PRECONDITION"));
  CHECK(cache->Snapshot().decoded.entries == 0u);
  CHECK(cache->Snapshot().decoded.hits == 1u);
}

}  // namespace
}  // namespace forebay::cache
