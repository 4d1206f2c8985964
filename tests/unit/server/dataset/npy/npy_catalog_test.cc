#include "server/dataset/npy/npy_catalog.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/mutex.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/base/no_threads.h"
#include "tests/unit/server/dataset/npy/npy_file.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::npy {
namespace {

using storage::ListedObject;
using testing::IsEmpty;

// Counts reads.
class CountingSource final : public storage::ByteSource {
 public:
  explicit CountingSource(storage::ByteSource& source) : source_(source) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    reads += static_cast<int>(requests.size());
    ticket = requests.front().ticket;
    if (on_read != nullptr) on_read();
    source_.Read(requests);
  }
  std::atomic<int> reads = 0;
  std::atomic<std::uint64_t> ticket = 0;  // of the last one
  std::function<void()> on_read;          // called before each

 private:
  storage::ByteSource& source_;
};

// Answers the first reads at once, and the others when so many wait.
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

class NpyCatalogTest : public testing::Test {
 protected:
  void Put(const std::string& path, std::string content) {
    const storage::ObjectVersion version =
        memory_.Put(path, std::move(content));
    std::erase_if(files_,
                  [&](const ListedObject& f) { return f.name == path; });
    files_.push_back({path, version});
    std::sort(files_.begin(), files_.end(),
              [](const ListedObject& a, const ListedObject& b) {
                return a.name < b.name;
              });
  }

  NpyRequest Request() {
    return {.root = memory_.root(),
            .name = "*.npy",
            .list = [this](base::WorkingMemory&, const std::stop_token&)
                -> absl::StatusOr<std::vector<ListedObject>> { return files_; },
            .source = &source_};
  }

  std::shared_ptr<const Dataset> Open(const NpyRequest& request) {
    auto dataset = catalog_.Open(request, &warnings_, {});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? *dataset : nullptr;
  }

  absl::Status Refusal() {
    return catalog_.Open(Request(), &warnings_, {}).status();
  }

  std::string Refusal(absl::StatusCode code) {
    const absl::Status status = Refusal();
    EXPECT_EQ(status.code(), code) << status;
    std::string text(status.message());
    const std::string start = memory_.root()->uri() + ": ";
    EXPECT_TRUE(text.starts_with(start)) << text;
    return text.substr(std::min(start.size(), text.size()));
  }

  storage::MemorySource memory_;
  CountingSource source_{memory_};
  std::vector<ListedObject> files_;
  std::vector<std::string> warnings_;
  NpyCatalog catalog_{"", base::AmpleBudget()};
};

TEST_F(NpyCatalogTest, EachRowIsASample) {
  Put("a.npy", NpyFile("<i2", "(2, 3)", 12));
  Put("b.npy", NpyFile("<i2", "(0, 3)", 0));
  Put("c.npy", NpyFile("<i2", "(1, 3)", 6));
  const auto dataset = Open(Request());
  ASSERT_EQ(dataset->size(), 3u);
  ASSERT_EQ(dataset->fields().size(), 1u);
  const Field& field = dataset->fields()[0];
  EXPECT_EQ(field.name, "array");
  EXPECT_EQ(field.kind, proto::FieldKind::kArray);
  EXPECT_EQ(field.array, (ArrayType{proto::DType::kInt16, {3}}));
  EXPECT_EQ(field.longest, 6u);
  EXPECT_FALSE(field.on_host);
  EXPECT_EQ(dataset->largest_sample(), 6u);
  EXPECT_THAT(dataset->classes(), IsEmpty());
  const std::uint64_t header = files_[1].version.size;
  for (std::uint64_t id = 0; id < 3; ++id) {
    const Sample sample = dataset->At(id);
    EXPECT_EQ(sample.object, id < 2 ? "a.npy" : "c.npy");
    EXPECT_EQ(sample.version, files_[id < 2 ? 0 : 2].version);
    EXPECT_EQ(sample.offset, header + (id < 2 ? id * 6 : 0));
    EXPECT_EQ(sample.length, 6u);
    FieldValue value;
    dataset->ValuesOf(id, absl::MakeSpan(&value, 1));
    EXPECT_EQ(std::get<FieldRange>(value).offset, 0u);
    EXPECT_EQ(std::get<FieldRange>(value).length, 6u);
  }
  EXPECT_EQ(dataset->NameOf(1), "row 1");
  EXPECT_EQ(dataset->NameOf(2), "row 0");
}

TEST_F(NpyCatalogTest, FilesWithoutRowsAreAnEmptyDataset) {
  Put("a.npy", NpyFile("<i2", "(0, 3)", 0));
  const auto dataset = Open(Request());
  EXPECT_EQ(dataset->size(), 0u);
  EXPECT_EQ(dataset->largest_sample(), 0u);
  EXPECT_EQ(dataset->fields()[0].longest, 6u);
}

TEST_F(NpyCatalogTest, OneReadOfEachHeaderIsEnough) {
  for (int i = 0; i < 100; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("|u1", "(1000, 50)", 50'000));
  EXPECT_EQ(Open(Request())->size(), 100'000u);
  EXPECT_EQ(source_.reads, 100);
}

// One at a time would never end.
TEST_F(NpyCatalogTest, ManyHeadersAreReadAtOnce) {
  for (int i = 0; i < 1 + 3 * 32; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2,)", 8));
  GatheringSource source(memory_, 1, 32);
  NpyRequest request = Request();
  request.source = &source;
  request.files_at_once = 32;
  EXPECT_EQ(Open(request)->size(), 194u);
}

TEST_F(NpyCatalogTest, LongHeadersTakeASecondRead) {
  const std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  Put("a.npy", NpyFileOf(text + std::string(65536 - text.size(), ' '), "0123"));
  EXPECT_EQ(Open(Request())->At(0).offset, 65536u + 12);
  EXPECT_EQ(source_.reads, 2);
  Put("a.npy", NpyFileOf(text + std::string(65537 - text.size(), ' '), "0123"));
  EXPECT_EQ(Refusal(absl::StatusCode::kDataLoss),
            "a.npy: has a .npy header of 65537 bytes, of which at most 65536 "
            "are read");
  Put("a.npy", std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12));
  EXPECT_EQ(Refusal(absl::StatusCode::kDataLoss),
            "a.npy: has a .npy header of 4294967295 bytes, of which at most "
            "65536 are read");
}

TEST_F(NpyCatalogTest, FilesOfOtherTypesAreNamedWithTheFirst) {
  Put("a.npy", NpyFile("<f4", "(2, 3)", 24));
  Put("b.npy", NpyFile("<f4", "(5, 3)", 60));
  Put("c.npy", NpyFile("<f8", "(2, 3)", 48));
  Put("d.npy", NpyFile("<f4", "(2,)", 8));
  EXPECT_EQ(Refusal(absl::StatusCode::kInvalidArgument),
            "c.npy: has rows of float64 (3,), but those of a.npy are float32 "
            "(3,)");
  Put("c.npy", NpyFile("<f4", "(0, 3)", 0));
  EXPECT_EQ(Refusal(absl::StatusCode::kInvalidArgument),
            "d.npy: has rows of float32 (), but those of a.npy are float32 "
            "(3,)");
  Put("d.npy", NpyFile("<f4", "(0, 3, 1)", 0));
  EXPECT_EQ(Refusal(absl::StatusCode::kInvalidArgument),
            "d.npy: has rows of float32 (3, 1), but those of a.npy are float32 "
            "(3,)");
}

TEST_F(NpyCatalogTest, TheFirstBadFileIsNamed) {
  for (int i = 10; i < 60; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2,)", i % 7 == 6 ? 7 : 8));
  EXPECT_EQ(Refusal(absl::StatusCode::kDataLoss),
            "13.npy: is truncated: it has 7 of 8 bytes of data");
  Put("10.npy", "");
  EXPECT_EQ(Refusal(absl::StatusCode::kDataLoss), "10.npy: is no .npy file");
  files_.clear();
  EXPECT_EQ(Refusal(absl::StatusCode::kNotFound), "no file was named");
}

TEST_F(NpyCatalogTest, WithoutThreadsItReadsOneByOne) {
  for (int i = 0; i < 20; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2,)", 8));
  const base::NoThreads none;
  EXPECT_EQ(Open(Request())->size(), 40u);
}

TEST_F(NpyCatalogTest, LoadersShareTheIndexWhileFilesStay) {
  Put("a.npy", NpyFile("<f4", "(2,)", 8));
  const auto one = Open(Request());
  const auto other = Open(Request());
  EXPECT_EQ(source_.reads, 1);
  EXPECT_EQ(one->index(), other->index());
  EXPECT_EQ(one->version(), other->version());
  Put("a.npy", NpyFile("<f4", "(3,)", 12));
  const auto later = Open(Request());
  EXPECT_EQ(source_.reads, 2);
  EXPECT_EQ(later->size(), 3u);
  EXPECT_NE(later->version(), one->version());
  EXPECT_EQ(one->size(), 2u);
  // Other files are another dataset.
  NpyRequest request = Request();
  request.name = "a.npy";
  EXPECT_NE(Open(request)->index(), later->index());
}

TEST_F(NpyCatalogTest, OpensAtOnceReadOnce) {
  Put("a.npy", NpyFile("<f4", "(2,)", 8));
  constexpr int kLoaders = 8;
  std::latch start(kLoaders);
  std::vector<std::shared_ptr<const Dataset>> datasets(kLoaders);
  std::vector<std::thread> threads;
  for (auto& dataset : datasets) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      dataset = Open(Request());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(source_.reads, 1);
  for (const auto& dataset : datasets)
    EXPECT_EQ(dataset->index(), datasets[0]->index());
}

TEST_F(NpyCatalogTest, FilesThatChangeBetweenTwoLooksAreListedAgain) {
  Put("a.npy", NpyFile("<f4", "(2,)", 8));
  NpyRequest request = Request();
  int lists = 0;
  request.list =
      [&](base::WorkingMemory&,
          const std::stop_token&) -> absl::StatusOr<std::vector<ListedObject>> {
    std::vector<ListedObject> files = files_;
    if (++lists == 1) Put("a.npy", NpyFile("<f4", "(3,)", 12));
    return files;
  };
  EXPECT_EQ(Open(request)->size(), 3u);
  EXPECT_EQ(lists, 2);
  request.list =
      [&](base::WorkingMemory&,
          const std::stop_token&) -> absl::StatusOr<std::vector<ListedObject>> {
    std::vector<ListedObject> files = files_;
    Put("a.npy", NpyFile("<f4", "(2,)", 8));
    return files;
  };
  EXPECT_EQ(catalog_.Open(request, &warnings_, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(NpyCatalogTest, AScanEndsWhenNobodyWantsIt) {
  for (int i = 0; i < 100; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2,)", 8));
  std::stop_source stop;
  source_.on_read = [&] { stop.request_stop(); };
  EXPECT_EQ(
      catalog_.Open(Request(), &warnings_, stop.get_token()).status().code(),
      absl::StatusCode::kCancelled);
  EXPECT_LT(source_.reads, 100);
  source_.on_read = nullptr;
  EXPECT_EQ(Open(Request())->size(), 200u);
}

TEST_F(NpyCatalogTest, AnIndexNeedsMemory) {
  Put("a.npy", NpyFile("<f4", "(2,)", 8));
  base::MemoryBudget budget(1000);
  NpyCatalog catalog("", &budget);
  EXPECT_EQ(catalog.Open(Request(), &warnings_, {}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(NpyCatalogTest, AnIndexOfManyFilesIsKept) {
  const ScratchTree tree;
  const std::string directory = tree.path() + "/indexes";
  for (int i = 0; i < 64; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2, 3)", 24));
  const auto open = [&] {
    NpyCatalog catalog(directory, base::AmpleBudget());
    auto dataset = catalog.Open(Request(), &warnings_, {});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *std::move(dataset);
  };
  const auto one = open();
  EXPECT_EQ(source_.reads, 64);
  const auto other = open();
  EXPECT_EQ(source_.reads, 64);
  EXPECT_EQ(other->version(), one->version());
  EXPECT_EQ(other->size(), 128);
  EXPECT_EQ(other->At(127).object, one->At(127).object);
  EXPECT_EQ(other->At(127).offset, one->At(127).offset);
  EXPECT_EQ(other->At(127).version, one->At(127).version);
  // A file is another.
  Put("7.npy", NpyFile("<f4", "(1, 3)", 12));
  EXPECT_EQ(open()->size(), 127);
  EXPECT_EQ(source_.reads, 128);
  EXPECT_THAT(warnings_, IsEmpty());
}

// The file is touched in the middle of an epoch.
TEST_F(NpyCatalogTest, ALayoutLooksAgainAtAFileThatWasTouched) {
  const std::string file = NpyFile("<f4", "(4, 2)", 32);
  Put("a.npy", file);
  files_[0].version.revision = {.inode = 1, .ctime_nanos = 1};
  memory_.Rewrite("a.npy", file, {1, 1});
  const auto dataset = Open(Request());
  storage::ReadRequest read;
  read.root = memory_.root();
  read.object = "a.npy";
  read.ticket = 7;
  const auto look = [&] {
    const Sample sample = dataset->At(0);
    read.version = sample.version;
    absl::StatusOr<storage::Revision> now;
    sample.layout->LookAgain(read, source_,
                             [&](absl::StatusOr<storage::Revision> answer) {
                               now = std::move(answer);
                             });
    return now;
  };
  // Other elements in its place are no other layout.
  std::string others = file;
  others.back() = 'x';
  memory_.Rewrite("a.npy", others, {1, 2});
  EXPECT_EQ(*look(), (storage::Revision{1, 2}));
  EXPECT_EQ(source_.ticket, 7);  // who joins the read joins the look
  EXPECT_EQ(dataset->At(0).version.revision, (storage::Revision{1, 2}));
  // Whoever failed before that look needs none.
  const int reads = source_.reads;
  const Sample sample = dataset->At(0);
  read.version = sample.version;
  read.version.revision = {1, 1};
  sample.layout->LookAgain(read, source_,
                           [](const absl::StatusOr<storage::Revision>& now) {
                             EXPECT_EQ(*now, (storage::Revision{1, 2}));
                           });
  EXPECT_EQ(source_.reads, reads);
  // The same bytes as rows of another type.
  for (const std::string& other :
       {NpyFile("<i4", "(4, 2)", 32), NpyFile("<f4", "(2, 4)", 32),
        std::string(file.size(), 'x')}) {
    ASSERT_EQ(other.size(), file.size());
    memory_.Rewrite("a.npy", other, {1, 3});
    EXPECT_EQ(look().status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(look().status().message(),
              "a.npy: was rewritten since the dataset was indexed");
  }
  EXPECT_EQ(dataset->At(0).version.revision, (storage::Revision{1, 2}));
}

}  // namespace
}  // namespace forebay::dataset::npy
