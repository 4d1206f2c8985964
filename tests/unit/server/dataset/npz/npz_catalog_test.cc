#include "server/dataset/npz/npz_catalog.h"

#include <cstring>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "server/dataset/npz/npz_rows.h"
#include "server/storage/memory/memory_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/npz/golden_npz.h"

namespace forebay::dataset::npz {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;
using tests::IsOk;

class NpzCatalogTest {
 protected:
  void Put(const std::string& name, const std::string& content) {
    files_.push_back({name, source_.Put(name, content)});
  }

  absl::StatusOr<std::shared_ptr<const Dataset>> Open(
      const std::vector<std::string>& arrays,
      base::MemoryBudget* budget = base::AmpleBudget()) {
    if (catalog_ == nullptr || budget_ != budget)
      catalog_ = std::make_unique<NpzCatalog>(budget_ = budget);
    NpzRequest request;
    request.root = source_.root();
    request.name = "*";
    request.arrays = arrays;
    request.list = [this](base::WorkingMemory&, const std::stop_token&) {
      return files_;
    };
    request.source = &source_;
    return catalog_->Open(request, &warnings_, {});
  }

  std::string Refusal(const std::vector<std::string>& arrays,
                      absl::StatusCode code) {
    const absl::Status status = Open(arrays).status();
    CHECK_THAT(status, HasCode(code));
    return std::string(status.message());
  }

  storage::MemorySource source_;
  std::vector<storage::ListedObject> files_;
  std::vector<std::string> warnings_;
  std::unique_ptr<NpzCatalog> catalog_;
  base::MemoryBudget* budget_ = nullptr;
};

absl::Span<const std::uint8_t> MemoryOf(const Dataset& dataset) {
  return dynamic_cast<const storage::memory::MemoryRoot&>(*dataset.root())
      .memory()
      ->bytes();
}

TEST_CASE_METHOD(
    NpzCatalogTest,
    "The npz catalog lets the rows of several files follow one another",
    "[npz][npz_catalog]") {
  Put("a.npz", GoldenNpz("stored.npz"));
  Put("b.npz", GoldenNpz("deflated.npz"));
  const auto dataset = Open({"y", "x"});
  REQUIRE_THAT(dataset, IsOk());
  CHECK((*dataset)->size() == 11);
  const auto& fields = (*dataset)->fields();
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].name == "y");
  CHECK(fields[0].array ==
        ArrayType{.dtype = proto::DType::kUint8, .shape = {}});
  CHECK(fields[1].array ==
        ArrayType{.dtype = proto::DType::kFloat32, .shape = {2, 3}});
  // Row 4 is the last one of the first file, and row 5 the first one of the
  // second file.
  const auto bytes = MemoryOf(**dataset);
  REQUIRE(bytes.size() == 11 * 25);
  CHECK(bytes[4 * 25] == 4);
  CHECK(bytes[5 * 25] == 0);
  const Sample sample = (*dataset)->At(5);
  CHECK(sample.offset == 5 * 25);
  CHECK(sample.length == 25);
}

TEST_CASE_METHOD(
    NpzCatalogTest,
    "The npz catalog takes all arrays if they have equal numbers of rows",
    "[npz][npz_catalog]") {
  Put("a.npz", GoldenNpz("rows.npz"));
  const auto dataset = Open({});
  REQUIRE_THAT(dataset, IsOk());
  CHECK((*dataset)->size() == 5);
  CHECK((*dataset)->fields()[0].name == "x");
  CHECK((*dataset)->fields()[1].name == "y");
  CHECK_THAT(warnings_, IsEmpty());
}

TEST_CASE_METHOD(
    NpzCatalogTest,
    "The npz catalog says which arrays differ in their numbers of rows",
    "[npz][npz_catalog]") {
  Put("a.npz", GoldenNpz("stored.npz"));
  CHECK_THAT(Refusal({}, absl::StatusCode::kInvalidArgument),
             Contains("a.npz: its arrays have different numbers of rows: x "
                      "has 5, y has 5, long has 2000: name those that "
                      "belong together by fields=, or, if each file is a "
                      "sample, say so by rows=False"));
  CHECK_THAT(warnings_,
             ElementsAre(Contains("is read without the array scalar: it is a "
                                  ".npy file of a single value"),
                         Contains("is read without the array words: it ")));
  CHECK_THAT(Refusal({"x", "z"}, absl::StatusCode::kInvalidArgument),
             Contains("a.npz: there is no array z; there are x, y"));
  CHECK_THAT(Refusal({"scalar"}, absl::StatusCode::kUnimplemented),
             Contains("a.npz: scalar: is a .npy file of a single value"));
}

TEST_CASE_METHOD(
    NpzCatalogTest,
    "The npz catalog refuses arrays without rows if their shapes are too large",
    "[npz][npz_catalog]") {
  Put("a.npz", GoldenNpz("no_rows.npz"));
  CHECK_THAT(Refusal({}, absl::StatusCode::kInvalidArgument),
             Contains("its shape is too large"));
}

TEST_CASE_METHOD(NpzCatalogTest,
                 "The npz catalog demands that all files are of one type",
                 "[npz][npz_catalog]") {
  Put("a.npz", GoldenNpz("unnamed.npz"));
  Put("b.npz", GoldenNpz("unnamed.npz"));
  CHECK_THAT(Open({"arr_0"}), IsOk());
  files_.pop_back();
  Put("c.npz", GoldenNpz("stored.npz"));
  CHECK_THAT(Refusal({"arr_0"}, absl::StatusCode::kInvalidArgument),
             Contains("c.npz: there is no array arr_0"));
}

TEST_CASE_METHOD(NpzCatalogTest,
                 "Loaders share the memory of npz rows until a file changes",
                 "[npz][npz_catalog]") {
  Put("a.npz", GoldenNpz("rows.npz"));
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  {
    const auto one = *Open({"y"}, &budget);
    const std::uint64_t used = budget.used();
    CHECK(used >= 5);
    const auto other = *Open({"y"}, &budget);
    CHECK(one.get() == other.get());
    CHECK(budget.used() == used);
    files_.clear();
    Put("a.npz", GoldenNpz("stored.npz"));
    const auto later = *Open({"y"}, &budget);
    CHECK(one.get() != later.get());
    // The files are new, but their content is the same.
    CHECK(one->version() == later->version());
  }
  CHECK(budget.used() == 0);
}

TEST_CASE_METHOD(
    NpzCatalogTest,
    "A large array that npz files store uncompressed stays in its files",
    "[npz][npz_catalog]") {
  Put("a.npz", GoldenNpz("stored.npz"));
  Put("b.npz", GoldenNpz("rows.npz"));
  const auto load = [this] {
    return LoadNpzRows({.root = source_.root(),
                        .names = {"y", "x"},
                        .source = &source_,
                        .budget = base::AmpleBudget(),
                        .least_stored = 200,
                        .stop = {}},
                       files_, &warnings_);
  };
  const auto dataset = load();
  REQUIRE_THAT(dataset, IsOk());
  CHECK((*dataset)->size() == 10);
  CHECK((*dataset)->largest_sample() == 24);
  for (const std::uint64_t id : {0, 4, 5, 9}) {
    const Sample sample = (*dataset)->At(id);
    CHECK(sample.object == (id < 5 ? "a.npz" : "b.npz"));
    const std::string read = GoldenNpz(id < 5 ? "stored.npz" : "rows.npz")
                                 .substr(sample.offset, sample.length);
    std::vector<FieldValue> values(2);
    ValueBuffers buffers;
    REQUIRE_THAT(
        (*dataset)->ReadValues(id, {}, absl::MakeSpan(values), &buffers),
        IsOk());
    CHECK_THAT(std::get<ComputedBytes>(values[0]).bytes, ElementsAre(id % 5));
    CHECK(std::get<FieldRange>(values[1]).length == 24);
    float first = 0;
    std::memcpy(&first, read.data(), sizeof(first));
    CHECK(first == 6 * static_cast<float>(id % 5));
  }
  Put("c.npz", GoldenNpz("deflated.npz"));
  CHECK_THAT(load().status().message(),
             Contains("c.npz: x: is deflated, but that of the first file"));
}

TEST_CASE_METHOD(NpzCatalogTest,
                 "The npz catalog stops where the memory budget ends",
                 "[npz][npz_catalog]") {
  Put("a.npz", GoldenNpz("deflated.npz"));
  base::MemoryBudget budget(4096);
  const absl::Status status = Open({"y"}, &budget).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(budget.used() == 0);
}

TEST_CASE_METHOD(NpzCatalogTest,
                 "The npz catalog notices damage when it opens a file",
                 "[npz][npz_catalog]") {
  std::string file = GoldenNpz("rows.npz");
  const std::size_t at = file.find("NUMPY") + 140;
  file[at] ^= 1;
  Put("a.npz", file);
  CHECK_THAT(Refusal({}, absl::StatusCode::kDataLoss),
             Contains("a.npz: x.npy: is damaged: its CRC-32 is"));
}

}  // namespace
}  // namespace forebay::dataset::npz
