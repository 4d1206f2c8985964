// Tests how the catalog of .npy files reads their headers.

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "server/dataset/npy/npy_catalog.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/dataset/npy/npy_catalog_fixture.h"
#include "tests/unit/server/dataset/npy/npy_file.h"

namespace forebay::dataset::npy {
namespace {

using tests::HasCode;

// Answers the first `first` reads at once, and later ones whenever `together`
// reads wait.
class GatheringSource final : public storage::ByteSource {
 public:
  GatheringSource(storage::ByteSource& source, int first, std::size_t together)
      : source_(source), alone_(first), together_(together) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    std::vector<storage::ReadRequest> ready;
    {
      base::MutexLock lock(&mutex_);
      for (storage::ReadRequest& request : requests)
        waiting_.push_back(std::move(request));
      if (alone_ == 0 && waiting_.size() < together_) return;
      if (alone_ > 0) --alone_;
      ready.swap(waiting_);
    }
    source_.Read(absl::MakeSpan(ready));
  }

 private:
  storage::ByteSource& source_;
  base::Mutex mutex_;
  int alone_ ABSL_GUARDED_BY(mutex_);
  const std::size_t together_;
  std::vector<storage::ReadRequest> waiting_ ABSL_GUARDED_BY(mutex_);
};

TEST_CASE_METHOD(NpyCatalogTest,
                 "The npy catalog needs only one read of each header",
                 "[npy][npy_catalog_scan]") {
  for (int i = 0; i < 100; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("|u1", "(1000, 50)", 50'000));
  CHECK(Open(Request())->size() == 100'000u);
  CHECK(source_.reads == 100);
}

// The source answers no read until 32 reads wait.
TEST_CASE_METHOD(NpyCatalogTest, "The npy catalog reads many headers at once",
                 "[npy][npy_catalog_scan]") {
  for (int i = 0; i < 1 + 3 * 32; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2,)", 8));
  GatheringSource source(memory_, 1, 32);
  NpyRequest request = Request();
  request.source = &source;
  request.files_at_once = 32;
  CHECK(Open(request)->size() == 194u);
}

TEST_CASE_METHOD(NpyCatalogTest,
                 "The npy catalog reads long headers by a second read",
                 "[npy][npy_catalog_scan]") {
  const std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  Put("a.npy", NpyFileOf(text + std::string(65536 - text.size(), ' '), "0123"));
  CHECK(Open(Request())->At(0).offset == 65536u + 12);
  CHECK(source_.reads == 2);
  Put("a.npy", NpyFileOf(text + std::string(65537 - text.size(), ' '), "0123"));
  CHECK(Refusal(absl::StatusCode::kDataLoss) ==
        "a.npy: has a .npy header of 65537 bytes, of which at most 65536 "
        "are read");
  Put("a.npy", std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12));
  CHECK(Refusal(absl::StatusCode::kDataLoss) ==
        "a.npy: has a .npy header of 4294967295 bytes, of which at most "
        "65536 are read");
}

TEST_CASE_METHOD(
    NpyCatalogTest,
    "The npy catalog reads files one by one where no thread can be started",
    "[npy][npy_catalog_scan]") {
  for (int i = 0; i < 20; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2,)", 8));
  const base::NoThreads none;
  CHECK(Open(Request())->size() == 40u);
}

TEST_CASE_METHOD(NpyCatalogTest,
                 "A scan of npy files ends when nobody wants it",
                 "[npy][npy_catalog_scan]") {
  for (int i = 0; i < 100; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2,)", 8));
  std::stop_source stop;
  source_.on_read = [&] { stop.request_stop(); };
  CHECK_THAT(catalog_.Open(Request(), &warnings_, stop.get_token()),
             HasCode(absl::StatusCode::kCancelled));
  CHECK(source_.reads < 100);
  source_.on_read = nullptr;
  CHECK(Open(Request())->size() == 200u);
}

}  // namespace
}  // namespace forebay::dataset::npy
