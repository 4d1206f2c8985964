#include "server/dataset/npy/npy_catalog.h"

#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/npy/npy_catalog_fixture.h"
#include "tests/unit/server/dataset/npy/npy_file.h"
#include "tests/unit/server/dataset/scratch_tree.h"

namespace forebay::dataset::npy {
namespace {

using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

using storage::ListedObject;

TEST_CASE_METHOD(NpyCatalogTest, "The npy catalog makes each row a sample",
                 "[npy][npy_catalog]") {
  Put("a.npy", NpyFile("<i2", "(2, 3)", 12));
  Put("b.npy", NpyFile("<i2", "(0, 3)", 0));
  Put("c.npy", NpyFile("<i2", "(1, 3)", 6));
  const auto dataset = Open(Request());
  REQUIRE(dataset->size() == 3u);
  REQUIRE(dataset->fields().size() == 1u);
  const Field& field = dataset->fields()[0];
  CHECK(field.name == "array");
  CHECK(field.kind == proto::FieldKind::kArray);
  CHECK(field.array == ArrayType{proto::DType::kInt16, {3}});
  CHECK(field.longest == 6u);
  CHECK_FALSE(field.on_host);
  CHECK(dataset->largest_sample() == 6u);
  CHECK_THAT(dataset->classes(), IsEmpty());
  const std::uint64_t header = files_[1].version.size;
  for (std::uint64_t id = 0; id < 3; ++id) {
    const Sample sample = dataset->At(id);
    CHECK(sample.object == (id < 2 ? "a.npy" : "c.npy"));
    CHECK(sample.version == files_[id < 2 ? 0 : 2].version);
    CHECK(sample.offset == header + (id < 2 ? id * 6 : 0));
    CHECK(sample.length == 6u);
    FieldValue value;
    dataset->ValuesOf(id, absl::MakeSpan(&value, 1));
    CHECK(std::get<FieldRange>(value).offset == 0u);
    CHECK(std::get<FieldRange>(value).length == 6u);
  }
  CHECK(dataset->NameOf(1) == "row 1");
  CHECK(dataset->NameOf(2) == "row 0");
}

TEST_CASE_METHOD(NpyCatalogTest,
                 "The npy catalog opens files without rows as an empty dataset",
                 "[npy][npy_catalog]") {
  Put("a.npy", NpyFile("<i2", "(0, 3)", 0));
  const auto dataset = Open(Request());
  CHECK(dataset->size() == 0u);
  CHECK(dataset->largest_sample() == 0u);
  CHECK(dataset->fields()[0].longest == 6u);
}

TEST_CASE_METHOD(
    NpyCatalogTest,
    "The npy catalog names a file of another type together with the first file",
    "[npy][npy_catalog]") {
  Put("a.npy", NpyFile("<f4", "(2, 3)", 24));
  Put("b.npy", NpyFile("<f4", "(5, 3)", 60));
  Put("c.npy", NpyFile("<f8", "(2, 3)", 48));
  Put("d.npy", NpyFile("<f4", "(2,)", 8));
  CHECK(Refusal(absl::StatusCode::kInvalidArgument) ==
        "c.npy: has rows of float64 (3,), but those of a.npy are float32 "
        "(3,)");
  Put("c.npy", NpyFile("<f4", "(0, 3)", 0));
  CHECK(Refusal(absl::StatusCode::kInvalidArgument) ==
        "d.npy: has rows of float32 (), but those of a.npy are float32 "
        "(3,)");
  Put("d.npy", NpyFile("<f4", "(0, 3, 1)", 0));
  CHECK(Refusal(absl::StatusCode::kInvalidArgument) ==
        "d.npy: has rows of float32 (3, 1), but those of a.npy are float32 "
        "(3,)");
}

TEST_CASE_METHOD(NpyCatalogTest, "The npy catalog names the first bad file",
                 "[npy][npy_catalog]") {
  for (int i = 10; i < 60; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2,)", i % 7 == 6 ? 7 : 8));
  CHECK(Refusal(absl::StatusCode::kDataLoss) ==
        "13.npy: is truncated: it has 7 of 8 bytes of data");
  Put("10.npy", "");
  CHECK(Refusal(absl::StatusCode::kDataLoss) == "10.npy: is not a .npy file");
  files_.clear();
  CHECK(Refusal(absl::StatusCode::kNotFound) == "no file was named");
}

TEST_CASE_METHOD(NpyCatalogTest,
                 "Loaders share the npy index while the files stay the same",
                 "[npy][npy_catalog]") {
  Put("a.npy", NpyFile("<f4", "(2,)", 8));
  const auto one = Open(Request());
  const auto other = Open(Request());
  CHECK(source_.reads == 1);
  CHECK(one->index() == other->index());
  CHECK(one->version() == other->version());
  Put("a.npy", NpyFile("<f4", "(3,)", 12));
  const auto later = Open(Request());
  CHECK(source_.reads == 2);
  CHECK(later->size() == 3u);
  CHECK(later->version() != one->version());
  CHECK(one->size() == 2u);
  // A dataset of other files has another index.
  NpyRequest request = Request();
  request.name = "a.npy";
  CHECK(Open(request)->index() != later->index());
}

TEST_CASE_METHOD(NpyCatalogTest,
                 "Opens of an npy dataset at the same time read each file once",
                 "[npy][npy_catalog]") {
  Put("a.npy", NpyFile("<f4", "(2,)", 8));
  constexpr int kLoaders = 8;
  std::latch start(kLoaders);
  std::vector<std::shared_ptr<const Dataset>> datasets(kLoaders);
  std::vector<std::jthread> threads;
  for (auto& dataset : datasets) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      dataset = Open(Request());
    });
  }
  for (std::jthread& thread : threads) thread.join();
  CHECK(source_.reads == 1);
  for (const auto& dataset : datasets)
    CHECK(dataset->index() == datasets[0]->index());
}

TEST_CASE_METHOD(
    NpyCatalogTest,
    "The npy catalog lists files again that change between two looks",
    "[npy][npy_catalog]") {
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
  CHECK(Open(request)->size() == 3u);
  CHECK(lists == 2);
  request.list =
      [&](base::WorkingMemory&,
          const std::stop_token&) -> absl::StatusOr<std::vector<ListedObject>> {
    std::vector<ListedObject> files = files_;
    Put("a.npy", NpyFile("<f4", "(2,)", 8));
    return files;
  };
  CHECK_THAT(catalog_.Open(request, &warnings_, {}),
             HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(
    NpyCatalogTest,
    "The npy catalog refuses an index that does not fit in the memory budget",
    "[npy][npy_catalog]") {
  Put("a.npy", NpyFile("<f4", "(2,)", 8));
  base::MemoryBudget budget(1000);
  NpyCatalog catalog("", &budget);
  CHECK_THAT(catalog.Open(Request(), &warnings_, {}),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(budget.used() == 0u);
}

TEST_CASE_METHOD(NpyCatalogTest,
                 "The npy catalog keeps an index of many files on disk",
                 "[npy][npy_catalog]") {
  const ScratchTree tree;
  const std::string directory = tree.path() + "/indexes";
  for (int i = 0; i < 64; ++i)
    Put(absl::StrCat(i, ".npy"), NpyFile("<f4", "(2, 3)", 24));
  const auto open = [&] {
    NpyCatalog catalog(directory, base::AmpleBudget());
    auto dataset = catalog.Open(Request(), &warnings_, {});
    CHECK_THAT(dataset, IsOk());
    return *std::move(dataset);
  };
  const auto one = open();
  CHECK(source_.reads == 64);
  const auto other = open();
  CHECK(source_.reads == 64);
  CHECK(other->version() == one->version());
  CHECK(other->size() == 128);
  CHECK(other->At(127).object == one->At(127).object);
  CHECK(other->At(127).offset == one->At(127).offset);
  CHECK(other->At(127).version == one->At(127).version);
  // A file of the dataset is replaced.
  Put("7.npy", NpyFile("<f4", "(1, 3)", 12));
  CHECK(open()->size() == 127);
  CHECK(source_.reads == 128);
  CHECK_THAT(warnings_, IsEmpty());
}

// The file's revision changes in the middle of an epoch.
TEST_CASE_METHOD(NpyCatalogTest,
                 "An npy layout looks again at a file that was touched",
                 "[npy][npy_catalog]") {
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
    sample.layout->Revalidate(read, source_,
                              [&](absl::StatusOr<storage::Revision> answer) {
                                now = std::move(answer);
                              });
    return now;
  };
  // Other elements at the same offsets do not change the layout.
  std::string others = file;
  others.back() = 'x';
  memory_.Rewrite("a.npy", others, {1, 2});
  CHECK(*look() == storage::Revision{1, 2});
  // Readers that join this read also join the check.
  CHECK(source_.ticket == 7);
  CHECK(dataset->At(0).version.revision == storage::Revision{1, 2});
  // A read that failed before that check needs no second check.
  const int reads = source_.reads;
  const Sample sample = dataset->At(0);
  read.version = sample.version;
  read.version.revision = {1, 1};
  sample.layout->Revalidate(read, source_,
                            [](const absl::StatusOr<storage::Revision>& now) {
                              CHECK(*now == storage::Revision{1, 2});
                            });
  CHECK(source_.reads == reads);
  // The file's size stays the same, but its rows have another type or shape.
  for (const std::string& other :
       {NpyFile("<i4", "(4, 2)", 32), NpyFile("<f4", "(2, 4)", 32),
        std::string(file.size(), 'x')}) {
    REQUIRE(other.size() == file.size());
    memory_.Rewrite("a.npy", other, {1, 3});
    CHECK_THAT(look(), HasCode(absl::StatusCode::kFailedPrecondition));
    CHECK(look().status().message() ==
          "a.npy: was rewritten since the dataset was indexed");
  }
  CHECK(dataset->At(0).version.revision == storage::Revision{1, 2});
}

}  // namespace
}  // namespace forebay::dataset::npy
