// Runs a tier through a long random series of reads, restarts, damage, and
// changes of the source. The tier gives the bytes of the source, and its files
// stay within their capacity.

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <system_error>

#include "tests/catch/catch.h"
#include "tests/unit/server/cache/disk/disk_house.h"

namespace forebay::cache::disk {
namespace {

constexpr std::uint64_t kSegment = 32 * kPageBytes;
constexpr std::uint64_t kCapacity = 12 * kSegment;
constexpr int kObjects = 60;
constexpr std::int64_t kSecond = 1'000'000'000;

class Life {
 public:
  explicit Life(std::uint32_t seed) : random_(seed) {
    for (int i = 0; i < kObjects; ++i) Change(i);
  }

  void Step() {
    const auto dice = random_() % 100;
    if (dice < 85) {
      Read();
    } else if (dice < 90) {
      Change(static_cast<int>(random_() % kObjects));
    } else if (dice < 94) {
      house_.clock().Advance(static_cast<std::int64_t>(random_() % 2000) *
                             kSecond);
    } else if (dice < 97) {
      Fail();
    } else if (dice < 99) {
      house_.faults().remove = 0;
      house_.Reopen();
    } else {
      Damage();
    }
  }

  void CheckSize() {
    std::uint64_t bytes = 0;
    for (const auto& path : house_.Segments()) {
      // The segment's file may be evicted between the two calls.
      std::error_code gone;
      const std::uint64_t size = std::filesystem::file_size(path, gone);
      if (!gone) bytes += size;
    }
    REQUIRE(bytes <= kCapacity);
    REQUIRE(house_.cache().Snapshot().used <= kCapacity);
  }

  DiskHouse& house() { return house_; }

 private:
  static std::string NameOf(int object) {
    return "object" + std::to_string(object);
  }

  void Change(int object) {
    versions_[object] = house_.Put(NameOf(object), 1 + random_() % 50'000);
  }

  void Read() {
    const int object =
        static_cast<int>(std::min(random_() % kObjects, random_() % kObjects));
    auto request = house_.Request(NameOf(object), versions_[object],
                                  random_() % 2 == 0 ? 0 : 1 + object);
    if (random_() % 3 == 0) {
      request.offset = random_() % request.length;
      request.length = 1 + random_() % (request.length - request.offset);
    }
    request.purpose.urgency = random_() % 3;
    if (random_() % 2 == 0) {
      request.purpose.next_use_nanos =
          static_cast<std::int64_t>(random_() % 1000) * kSecond;
    }
    REQUIRE(house_.Text(request) == house_.Truth(request));
    if (random_() % 4 == 0) house_.Settle();
  }

  void Fail() {
    constexpr int kErrors[] = {0, 0, EIO, ENOSPC, EROFS};
    const auto any = [&] { return kErrors[random_() % std::size(kErrors)]; };
    Faults& faults = house_.faults();
    faults.read = random_() % 8 == 0 ? EIO : 0;
    faults.write = any();
    faults.writes_before = random_() % 20;
    faults.create = any();
    faults.creates_before = random_() % 3;
    faults.sync = random_() % 4 == 0 ? EIO : 0;
    faults.remove = random_() % 4 == 0 ? EROFS : 0;
    faults.short_moves = random_() % 2 == 0;
    faults.interrupted = static_cast<int>(random_() % 5);
  }

  void Damage() {
    const auto segments = house_.Segments();
    if (segments.empty()) return;
    const auto& path = segments[random_() % segments.size()];
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    for (int i = 0; i < 20; ++i) {
      file.seekp(static_cast<std::streamoff>(random_() % kSegment));
      file.put(static_cast<char>(random_()));
    }
  }

  std::mt19937 random_;
  DiskHouse house_{kCapacity, kSegment};
  std::map<int, storage::ObjectVersion> versions_;
};

TEST_CASE("The disk cache gives what lies below whatever happens",
          "[disk][disk_cache_model]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  Life life(seed);
  Tally hits;
  for (int step = 0; step < 4000; ++step) {
    hits.Add(life.house().cache().Snapshot().hits);
    CAPTURE(step);
    life.Step();
    if (step % 20 == 0) life.CheckSize();
  }
  CHECK(hits.reads > 100);
  life.house().Close();
  CHECK(life.house().budget().used() == 0);
}

}  // namespace
}  // namespace forebay::cache::disk
