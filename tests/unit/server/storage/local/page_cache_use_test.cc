#include "server/storage/local/page_cache_use.h"

#include <memory>
#include <string>

#include "tests/catch/catch.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage::local {
namespace {

constexpr int kFiles = 4000;
constexpr std::uint64_t kFileBytes = 50'000;

class PageCacheUseTest {
 protected:
  // Reads an epoch while the page cache is empty. Returns how many reads used
  // the page cache.
  int Epoch(std::uint64_t job = 1) {
    int through = 0;
    for (int i = 0; i < kFiles; ++i) {
      ReadRequest request;
      request.root = root_;
      request.object = std::to_string(i);
      request.length = kFileBytes;
      request.purpose.job = job;
      if (!use_.Wants(request)) continue;
      ++through;
      use_.Saw(job, false);
    }
    return through;
  }

  const std::shared_ptr<const Root> root_ =
      FakeRoot::Make({.uri = "somewhere"});
  std::uint64_t room_ = 0;
  PageCacheUse use_{[this] { return room_; }};
};

TEST_CASE_METHOD(PageCacheUseTest,
                 "Reads use the page cache where all fits into it",
                 "[local][page_cache_use]") {
  room_ = kFiles * kFileBytes * 6 / 5;
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(Epoch() == kFiles);
  // Another job that reads the same files needs no more memory.
  CHECK(Epoch(2) == kFiles);
}

TEST_CASE_METHOD(PageCacheUseTest,
                 "Reads spare the page cache what does not fit into it",
                 "[local][page_cache_use]") {
  room_ = kFiles * kFileBytes / 2;
  Epoch();
  CHECK(Epoch() < kFiles / 8);
  // More memory has become free.
  room_ = kFiles * kFileBytes * 2;
  Epoch();
  CHECK(Epoch() == kFiles);
}

TEST_CASE_METHOD(
    PageCacheUseTest,
    "The record of a job's page cache use is forgotten with the job",
    "[local][page_cache_use]") {
  room_ = kFiles * kFileBytes / 2;
  Epoch();
  use_.Forget(1);
  CHECK(Epoch() > kFiles / 4);
}

}  // namespace
}  // namespace forebay::storage::local
