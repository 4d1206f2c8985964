// The conformance suite on all sources except those that read from other hosts.
// remote_source_test.cc tests these.

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/cache/cache.h"
#include "server/cache/disk/disk_cache.h"
#include "server/cache/disk/volume.h"
#include "server/cache/next_use_registry.h"
#include "server/storage/coalesced_source.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/local_source.h"
#include "server/storage/local/ring.h"
#include "server/storage/local/uring_source.h"
#include "server/storage/scheduled_source.h"
#include "tests/catch/catch.h"
#include "tests/conformance/storage/byte_source_conformance.h"
#include "tests/conformance/storage/faulty_source.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage {
namespace {

std::unique_ptr<ByteSource> OnThreads() {
  return std::make_unique<local::LocalSource>();
}

std::unique_ptr<ByteSource> OnARing() {
  auto source = local::UringSource::Create({});
  return source.ok() ? *std::move(source) : nullptr;
}

class LocalHarness : public ByteSourceHarness {
 public:
  explicit LocalHarness(std::unique_ptr<ByteSource> source = OnThreads())
      : root_(*local::LocalRoot::Create(scratch_.Open(), scratch_.Path())),
        source_(std::move(source)) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override { return root_; }

  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    scratch_.Write(object, content);
    // File systems take modification times from a coarse clock. The test
    // therefore sets them itself, one nanosecond later for each put.
    const struct timespec times[2] = {{0, UTIME_OMIT}, {1000, ++next_nanos_}};
    CHECK(utimensat(AT_FDCWD, scratch_.Path(object).c_str(), times, 0) == 0);
    return root_->Stat(object)->version();
  }
  void Remove(const std::string& object) override {
    std::filesystem::remove(scratch_.Path(object));
  }

 private:
  const local::ScratchDir scratch_;
  const std::shared_ptr<const local::LocalRoot> root_;
  std::unique_ptr<ByteSource> source_;
  long next_nanos_ = 0;
};

class UringHarness final : public LocalHarness {
 public:
  UringHarness() : LocalHarness(OnARing()) {}
};

class MemoryHarness final : public ByteSourceHarness {
 public:
  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override { return source_->root(); }
  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    return source_->Put(object, content);
  }
  void Remove(const std::string& object) override { source_->Remove(object); }

 private:
  std::optional<MemorySource> source_{std::in_place};
};

// A harness whose source is a decorator of a LocalHarness's source.
class OverLocalHarness : public ByteSourceHarness {
 public:
  ByteSource& source() override { return *source_; }
  void DestroySource() override {
    source_.reset();
    inner_.DestroySource();
  }
  std::shared_ptr<const Root> root() override { return inner_.root(); }
  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    return inner_.Put(object, content);
  }
  void Remove(const std::string& object) override { inner_.Remove(object); }

 protected:
  ByteSource* below() { return &inner_.source(); }
  void Decorate(std::unique_ptr<ByteSource> source) {
    source_ = std::move(source);
  }

 private:
  LocalHarness inner_;
  std::unique_ptr<ByteSource> source_;
};

class FaultyHarness final : public OverLocalHarness {
 public:
  FaultyHarness() { Decorate(std::make_unique<FaultySource>(below())); }
};

// A cache with space for most of the bytes that the suite reads, but not for
// all.
class CacheHarness final : public OverLocalHarness {
 public:
  CacheHarness() {
    Decorate(*cache::Cache::Create({.capacity = kCapacity, .seed = 1},
                                   {.below = below(),
                                    .budget = &budget_,
                                    .next_use = &next_use_registry_,
                                    .clock = base::Clock::Monotonic()}));
  }
  ~CacheHarness() override { DestroySource(); }

 private:
  static constexpr std::uint64_t kCapacity = 1'000'000;

  base::MemoryBudget budget_{kCapacity};
  cache::NextUseRegistry next_use_registry_;
};

// A source that has only a few reads in flight at the source below.
class ScheduledHarness final : public OverLocalHarness {
 public:
  ScheduledHarness() {
    auto source = std::make_unique<ScheduledSource>(
        below(),
        ScheduledSourceOptions{.reads_at_once = 5, .bytes_at_once = 1'000'000});
    source->SetWeight(2, 3);
    source->SetCap(1, 10e6);
    Decorate(std::move(source));
  }
};

// A decorator of a LocalHarness's source that joins the reads that the suite
// requests at once.
class CoalescedHarness final : public OverLocalHarness {
 public:
  CoalescedHarness() { Decorate(*CoalescedSource::Create(below(), &budget_)); }
  ~CoalescedHarness() override { DestroySource(); }

 private:
  base::MemoryBudget budget_{std::uint64_t{64} << 20};
};

// A decorator of a source of objects in memory. The second read of a range
// often comes from the disk.
class DiskCacheHarness final : public ByteSourceHarness {
 public:
  DiskCacheHarness()
      : source_(*cache::disk::DiskCache::Create(
            {.store = {.capacity = kCapacity}},
            *cache::disk::CacheDirectory::Lock(scratch_.Path("tier")),
            {.below = &inner_,
             .budget = &budget_,
             .next_use = &next_use_registry_,
             .clock = base::Clock::Monotonic()})) {}

  ByteSource& source() override { return *source_; }
  void DestroySource() override { source_.reset(); }
  std::shared_ptr<const Root> root() override { return inner_.root(); }
  ObjectVersion Put(const std::string& object,
                    const std::string& content) override {
    return inner_.Put(object, content);
  }
  void Remove(const std::string& object) override { inner_.Remove(object); }

 private:
  static constexpr std::uint64_t kCapacity = std::uint64_t{64} << 20;

  const local::ScratchDir scratch_;
  base::MemoryBudget budget_{kCapacity};
  cache::NextUseRegistry next_use_registry_;
  MemorySource inner_;
  std::unique_ptr<cache::disk::DiskCache> source_;
};

template <typename Harness>
std::unique_ptr<ByteSourceHarness> Make() {
  return std::make_unique<Harness>();
}

const tests::RunsOn<ByteSourceConformance> kLocal({{"local",
                                                    &Make<LocalHarness>}});
// The ring is tested only where this host allows io_uring.
const tests::RunsOn<ByteSourceConformance> kUring(
    local::Ring::Probe().ok()
        ? std::vector<tests::Named<
              ByteSourceConformance::Subject>>{{"ring", &Make<UringHarness>}}
        : std::vector<tests::Named<ByteSourceConformance::Subject>>{});
const tests::RunsOn<ByteSourceConformance> kMemory({{"memory",
                                                     &Make<MemoryHarness>}});
const tests::RunsOn<ByteSourceConformance> kFaulty({{"faulty",
                                                     &Make<FaultyHarness>}});
const tests::RunsOn<ByteSourceConformance> kCache({{"cache",
                                                    &Make<CacheHarness>}});
const tests::RunsOn<ByteSourceConformance> kDiskCache(
    {{"disk cache", &Make<DiskCacheHarness>}});
const tests::RunsOn<ByteSourceConformance> kCoalesced(
    {{"coalesced", &Make<CoalescedHarness>}});
const tests::RunsOn<ByteSourceConformance> kScheduled(
    {{"scheduled", &Make<ScheduledHarness>}});

TEST_CASE("A faulty source fails and holds reads as the script says",
          "[storage][byte_source]") {
  MemorySource inner;
  const ObjectVersion version = inner.Put("a", "content");
  FaultySource source(&inner);
  std::string log;
  const auto read = [&] {
    ReadRequest request;
    request.root = inner.root();
    request.object = "a";
    request.version = version;
    request.length = version.size;
    request.done = [&](const absl::StatusOr<ReadResult>& result) {
      log += result.ok() ? 'y' : 'n';
    };
    source.Read({&request, 1});
  };
  source.Fail("a", absl::UnavailableError("scripted"), 2);
  read();
  read();
  read();
  CHECK(log == "nny");
  source.Hold();
  read();
  CHECK(log == "nny");
  CHECK(source.held() == 1);
  source.Release();
  CHECK(log == "nnyy");
}

}  // namespace
}  // namespace forebay::storage
