// Tests of the cache's read-ahead.

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/storage/read_ahead_hints.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/cache/cache_house.h"

namespace forebay::cache {
namespace {

using tests::ElementsAre;
using tests::IsEmpty;
using tests::SizeIs;

constexpr std::uint64_t kPlenty = 1 << 20;
constexpr std::uint64_t kBytes = 100;
constexpr storage::Variant kVariant = 7;

std::string NameOf(std::uint64_t sample) {
  return (sample < 10 ? "s0" : "s") + std::to_string(sample);
}

// Hints of blocks of ten samples. The reader wants the samples one after
// another, up to `foreign`.
class Tens final : public storage::ReadAheadHints {
 public:
  Tens(std::vector<storage::ObjectVersion> versions, std::uint64_t foreign)
      : versions_(std::move(versions)), foreign_(foreign) {}

  std::uint64_t NumberOf(std::uint64_t sample) const override {
    return sample / 10;
  }
  std::vector<storage::ReadAheadHint> NeighboursOf(
      std::uint64_t sample) const override {
    return List(sample + 1, (sample / 10 + 1) * 10, sample);
  }
  std::vector<storage::ReadAheadHint> DueBy(
      std::uint64_t sample) const override {
    return List((sample / 10 + 1) * 10, (sample / 10 + 2) * 10, sample);
  }

 private:
  std::vector<storage::ReadAheadHint> List(std::uint64_t begin,
                                           std::uint64_t end,
                                           std::uint64_t from) const {
    std::vector<storage::ReadAheadHint> list;
    for (std::uint64_t i = begin; i < end; ++i) {
      list.push_back({.sample = {1, i},
                      .object = NameOf(i),
                      .version = versions_[i],
                      .layout = nullptr,
                      .offset = 0,
                      .length = kBytes,
                      .distance = i < foreign_ ? i - from : 0});
    }
    return list;
  }

  const std::vector<storage::ObjectVersion> versions_;
  const std::uint64_t foreign_;
};

// A cache over sixty samples, each an object, which are wanted one after
// another.
class House {
 public:
  explicit House(std::uint64_t capacity = kPlenty,
                 std::uint64_t foreign = kSamples)
      : house_(capacity) {
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      versions_.push_back(house_.memory().Put(NameOf(i), ContentOf(i)));
      Want(i, static_cast<std::int64_t>(1000 * (i + 1)));
    }
    tens_ = std::make_shared<const Tens>(versions_, foreign);
  }

  static std::string ContentOf(std::uint64_t sample) {
    return std::string(kBytes, static_cast<char>('0' + sample));
  }
  storage::ReadRequest Plain(std::uint64_t sample, std::uint64_t job = 1) {
    auto request = house_.Request(NameOf(sample), versions_[sample], job);
    request.sample = {1, sample};
    return request;
  }
  storage::ReadRequest Request(std::uint64_t sample, std::uint64_t job = 1,
                               bool due = false) {
    auto request = Plain(sample, job);
    request.read_ahead_hints = tens_;
    request.neighbours_due = due;
    return request;
  }
  void Want(std::uint64_t sample, std::int64_t in_nanos) {
    house_.next_use().Want(sample, in_nanos == kNever
                                       ? kNever
                                       : house_.clock().NowNanos() + in_nanos);
  }
  std::vector<std::string> Asked() {
    std::vector<std::string> names;
    const auto reads = house_.below().reads();
    for (; seen_ < reads.size(); ++seen_) names.push_back(reads[seen_].object);
    return names;
  }
  CacheHouse* operator->() { return &house_; }

 private:
  static constexpr std::uint64_t kSamples = 60;

  CacheHouse house_;
  std::vector<storage::ObjectVersion> versions_;
  std::shared_ptr<const storage::ReadAheadHints> tens_;
  std::size_t seen_ = 0;
};

// The bytes of memory that one cached sample takes.
constexpr std::uint64_t kEach = storage::HeldBytes(kBytes) + 3 + 512;

TEST_CASE("A cache miss brings its neighbours in once", "[cache][read_ahead]") {
  House house;
  CHECK(house->Text(house.Request(6)) == House::ContentOf(6));
  CHECK_THAT(house.Asked(), ElementsAre("s06", "s07", "s08", "s09"));
  for (std::uint64_t i : {7, 8, 9}) {
    CHECK(house->Text(house.Request(i)) == House::ContentOf(i));
  }
  CHECK(house->Text(house.Request(5)) == House::ContentOf(5));
  CHECK_THAT(house.Asked(), ElementsAre("s05"));
}

TEST_CASE("Bytes that are read ahead count as read once and found once",
          "[cache][read_ahead]") {
  House house;
  house->Text(house.Request(6));
  CacheSnapshot snapshot = house->cache().Snapshot();
  CHECK(snapshot.jobs.at(1).source.bytes == 4 * kBytes);
  CHECK(snapshot.jobs.at(1).ahead.bytes == 3 * kBytes);
  CHECK(snapshot.jobs.at(1).bytes_saved() == 0);
  for (std::uint64_t i : {7, 8, 9}) house->Text(house.Request(i));
  snapshot = house->cache().Snapshot();
  CHECK(snapshot.total.source.bytes == 4 * kBytes);
  CHECK(snapshot.total.memory.bytes == 3 * kBytes);
  CHECK(snapshot.total.bytes_saved() == 0);
  // A second reader of the neighbours needs no further bytes.
  for (std::uint64_t i : {6, 7, 8, 9}) house->Text(house.Request(i, 2));
  CHECK(house->cache().Snapshot().jobs.at(2).bytes_saved() == 4 * kBytes);
}

TEST_CASE("A single read call brings each block of neighbours in once",
          "[cache][read_ahead]") {
  House house;
  std::string log;
  std::vector<storage::ReadRequest> requests;
  for (std::uint64_t i : {1, 2, 25, 3}) {
    requests.push_back(house.Request(i));
    requests.back().done =
        [&log](const absl::StatusOr<storage::ReadResult>& result) {
          log += result.ok() ? 'y' : 'n';
        };
  }
  house->cache().Read(absl::MakeSpan(requests));
  CHECK(log == "yyyy");
  CHECK_THAT(house.Asked(),
             ElementsAre("s01", "s02", "s25", "s03", "s04", "s05", "s06", "s07",
                         "s08", "s09", "s26", "s27", "s28", "s29"));
}

TEST_CASE(
    "Neighbours that are due are read ahead also where the sample is cached",
    "[cache][read_ahead]") {
  House house;
  house->Text(house.Plain(3));
  house.Asked();
  CHECK(house->Text(house.Request(3)) == House::ContentOf(3));
  CHECK_THAT(house.Asked(), IsEmpty());
  CHECK(house->Text(house.Request(3, 1, /*due=*/true)) == House::ContentOf(3));
  CHECK_THAT(house.Asked(), SizeIs(10));
  CHECK(house->Text(house.Request(12)) == House::ContentOf(12));
  CHECK_THAT(house.Asked(), IsEmpty());
}

TEST_CASE("A reader that wants a neighbour meanwhile joins its read-ahead",
          "[cache][read_ahead]") {
  House house;
  house->faulty().Hold();
  std::string log;
  auto first = house.Request(7);
  first.purpose.urgency = 5;
  first.done = Into(&log, "7");
  house->cache().Read({&first, 1});
  auto second = house.Plain(9, 2);
  second.purpose.urgency = 3;
  second.done = Into(&log, "9");
  house->cache().Read({&second, 1});
  const auto reads = house->below().reads();
  REQUIRE_THAT(reads, SizeIs(3));
  CHECK(reads[0].purpose.urgency == 5);
  CHECK(reads[2].object == "s09");
  CHECK(reads[2].purpose.job == 1);
  CHECK(reads[2].purpose.urgency > 5);
  const auto shares = house->below().shares();
  REQUIRE_THAT(shares, SizeIs(1));
  CHECK(shares[0].first == reads[2].ticket);
  CHECK(shares[0].second.job == 2);
  CHECK(shares[0].second.urgency == 3);
  house->faulty().Release();
  CHECK(log == "7:" + House::ContentOf(7) + " 9:" + House::ContentOf(9) + " ");
  const CacheSnapshot snapshot = house->cache().Snapshot();
  CHECK(snapshot.jobs.at(1).source.reads == 3);
  CHECK(snapshot.jobs.at(2).shared.reads == 1);
  CHECK(snapshot.jobs.at(2).source.reads == 0);
  // Nobody has read two of the neighbours yet.
  CHECK(snapshot.total.bytes_saved() == 0);
}

// All payers share the read. If only one paid, its cap could delay a read that
// all wait for.
TEST_CASE("The payers of a sample pay for the read-ahead of its neighbours",
          "[cache][read_ahead]") {
  for (const bool is_variant : {false, true}) {
    CAPTURE(is_variant);
    House house;
    auto request = house.Request(6, /*job=*/1, /*due=*/true);
    request.purpose.payers = std::make_shared<const std::vector<std::uint64_t>>(
        std::vector<std::uint64_t>{1, 2});
    if (is_variant) {
      request.variant = kVariant;
      house->next_use().Want(6, 1000);
      auto buffer = house->cache().Reserve({.read = &request,
                                            .revision = {},
                                            .variant = kVariant,
                                            .bytes = 10,
                                            .saves_nanos = 1'000'000});
      REQUIRE(buffer != nullptr);
      house->cache().Insert(std::move(buffer));
    }
    CHECK((**house->Read(request)).variant ==
          (is_variant ? kVariant : storage::kEncoded));
    const auto reads = house->below().reads();
    CHECK_THAT(reads, SizeIs(is_variant ? 10 : 14));
    for (const RecordingSource::Noted& read : reads) {
      CHECK(read.purpose.job == 1);
      CHECK_THAT(storage::PayersOf(read.purpose), ElementsAre(1, 2));
    }
  }
}

TEST_CASE(
    "A failed read-ahead does not fail the read and the next reader tries "
    "again",
    "[cache][read_ahead]") {
  House house;
  house->faulty().Fail("s08", absl::UnavailableError("s08: passing"));
  CHECK(house->Text(house.Request(7)) == House::ContentOf(7));
  CHECK(house->cache().Snapshot().failures == 1);
  CHECK(house->cache().Snapshot().entries == 2);
  CHECK(house->Text(house.Request(8)) == House::ContentOf(8));
  CHECK(house->below().times("s08") == 2);
}

TEST_CASE("Read-ahead leaves out neighbours that memory has no room for",
          "[cache][read_ahead]") {
  House house(5 * kEach);
  CHECK(house->Text(house.Request(0)) == House::ContentOf(0));
  CHECK_THAT(house.Asked(), ElementsAre("s00", "s01", "s02", "s03", "s04"));
  CHECK(house->cache().Snapshot().used == 5 * kEach);
  CHECK(house->Text(house.Request(9)) == House::ContentOf(9));
  CHECK_THAT(house.Asked(), ElementsAre("s09"));
}

TEST_CASE("Without a cache nothing is read ahead", "[cache][read_ahead]") {
  House house(0);
  CHECK(house->Text(house.Request(0, 1, /*due=*/true)) == House::ContentOf(0));
  CHECK_THAT(house.Asked(), ElementsAre("s00"));
}

// Wanted neighbours stay cached, and unwanted ones are evicted.
TEST_CASE("Neighbours that are read ahead do not evict each other",
          "[cache][read_ahead]") {
  House house(10 * kEach);
  house.Want(0, kNever);
  CHECK(house->Text(house.Request(0)) == House::ContentOf(0));
  CHECK_THAT(house.Asked(), SizeIs(10));
  for (std::uint64_t i = 6; i < 10; ++i) house.Want(i, kNever);
  // These neighbours are wanted slightly sooner than the cached samples.
  for (std::uint64_t i = 20; i < 30; ++i) {
    house.Want(i, static_cast<std::int64_t>(500 + i - 20));
  }
  for (std::uint64_t i = 1; i < 6; ++i) house.Want(i, 1000);
  house->Text(house.Request(20));
  // The cache requests s20 itself, and as many neighbours as fit beside 0 and 6
  // to 9.
  CHECK_THAT(house.Asked(), ElementsAre("s20", "s21", "s22", "s23", "s24"));
  for (std::uint64_t i = 1; i < 6; ++i) {
    CHECK(house->Text(house.Plain(i)) == House::ContentOf(i));
  }
  CHECK_THAT(house.Asked(), IsEmpty());
}

// Another rank may want neighbours that this rank does not read.
TEST_CASE("Read-ahead also brings in neighbours that others want as soon",
          "[cache][read_ahead]") {
  House house(kPlenty, /*foreign=*/5);
  house.Want(7, kNever);
  house.Want(8, 1'000'000);
  house.Want(9, 1'000'000);
  CHECK(house->Text(house.Request(0)) == House::ContentOf(0));
  CHECK_THAT(house.Asked(),
             ElementsAre("s00", "s01", "s02", "s03", "s04", "s05", "s06"));
}

TEST_CASE("Reads ahead of a forgotten job count in the cache's total",
          "[cache][read_ahead]") {
  House house;
  house->faulty().Hold();
  auto request = house.Request(8, 3);
  request.done = [](const absl::StatusOr<storage::ReadResult>&) {};
  house->cache().Read({&request, 1});
  house->cache().Forget(3);
  house->faulty().Release();
  const CacheSnapshot snapshot = house->cache().Snapshot();
  CHECK(snapshot.jobs.count(3) == 0);
  CHECK(snapshot.total.source.reads == 2);
}

TEST_CASE("A cache that is destroyed waits for its reads ahead",
          "[cache][read_ahead]") {
  House house;
  house->faulty().Hold();
  std::string log;
  auto request = house.Request(7);
  request.done = Into(&log, "7");
  house->cache().Read({&request, 1});
  std::jthread destroyer([&house] { house->DestroyCache(); });
  house->faulty().Release();
  destroyer.join();
  CHECK(log == "7:" + House::ContentOf(7) + " ");
  CHECK(house->budget().used() == 0);
}

}  // namespace
}  // namespace forebay::cache
