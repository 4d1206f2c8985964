#include "server/dataset/npz/npz_catalog.h"

#include <cstring>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dataset/npz/npz_rows.h"
#include "server/storage/memory/memory_root.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/npz/golden_npz.h"

namespace forebay::dataset::npz {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NpzCatalogTest : public testing::Test {
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
    EXPECT_EQ(status.code(), code) << status;
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

TEST_F(NpzCatalogTest, RowsOfSeveralFilesFollowOneAnother) {
  Put("a.npz", GoldenNpz("stored.npz"));
  Put("b.npz", GoldenNpz("deflated.npz"));
  const auto dataset = Open({"y", "x"});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->size(), 11);
  const auto& fields = (*dataset)->fields();
  ASSERT_EQ(fields.size(), 2);
  EXPECT_EQ(fields[0].name, "y");
  EXPECT_EQ(fields[0].array,
            (ArrayType{.dtype = proto::DType::kUint8, .shape = {}}));
  EXPECT_EQ(fields[1].array,
            (ArrayType{.dtype = proto::DType::kFloat32, .shape = {2, 3}}));
  // Row 4 of the first file, and row 0 of the second one.
  const auto bytes = MemoryOf(**dataset);
  ASSERT_EQ(bytes.size(), 11 * 25);
  EXPECT_EQ(bytes[4 * 25], 4);
  EXPECT_EQ(bytes[5 * 25], 0);
  const Sample sample = (*dataset)->At(5);
  EXPECT_EQ(sample.offset, 5 * 25);
  EXPECT_EQ(sample.length, 25);
}

TEST_F(NpzCatalogTest, AllArraysAreTakenIfTheyHaveEqualRows) {
  Put("a.npz", GoldenNpz("rows.npz"));
  const auto dataset = Open({});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->size(), 5);
  EXPECT_EQ((*dataset)->fields()[0].name, "x");
  EXPECT_EQ((*dataset)->fields()[1].name, "y");
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(NpzCatalogTest, SaysWhichArraysDiffer) {
  Put("a.npz", GoldenNpz("stored.npz"));
  EXPECT_THAT(Refusal({}, absl::StatusCode::kInvalidArgument),
              HasSubstr("a.npz: its arrays have different numbers of rows: x "
                        "has 5, y has 5, long has 2000: name those that "
                        "belong together by fields=, or, if each file is a "
                        "sample, say so by rows=False"));
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("is read without the array scalar: it is a "
                                    ".npy file of a single value"),
                          HasSubstr("is read without the array words: it ")));
  EXPECT_THAT(Refusal({"x", "z"}, absl::StatusCode::kInvalidArgument),
              HasSubstr("a.npz: there is no array z; there are x, y"));
  EXPECT_THAT(Refusal({"scalar"}, absl::StatusCode::kUnimplemented),
              HasSubstr("a.npz: scalar: is a .npy file of a single value"));
}

TEST_F(NpzCatalogTest, RowsThatAreNoneAreNotAddedUp) {
  Put("a.npz", GoldenNpz("no_rows.npz"));
  EXPECT_THAT(Refusal({}, absl::StatusCode::kInvalidArgument),
              HasSubstr("its shape is too large"));
}

TEST_F(NpzCatalogTest, FilesMustBeOfOneType) {
  Put("a.npz", GoldenNpz("unnamed.npz"));
  Put("b.npz", GoldenNpz("unnamed.npz"));
  EXPECT_TRUE(Open({"arr_0"}).ok());
  files_.pop_back();
  Put("c.npz", GoldenNpz("stored.npz"));
  EXPECT_THAT(Refusal({"arr_0"}, absl::StatusCode::kInvalidArgument),
              HasSubstr("c.npz: there is no array arr_0"));
}

TEST_F(NpzCatalogTest, LoadersShareTheMemoryUntilAFileChanges) {
  Put("a.npz", GoldenNpz("rows.npz"));
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  {
    const auto one = *Open({"y"}, &budget);
    const std::uint64_t used = budget.used();
    EXPECT_GE(used, 5);
    const auto other = *Open({"y"}, &budget);
    EXPECT_EQ(one.get(), other.get());
    EXPECT_EQ(budget.used(), used);
    files_.clear();
    Put("a.npz", GoldenNpz("stored.npz"));
    const auto later = *Open({"y"}, &budget);
    EXPECT_NE(one.get(), later.get());
    // The content is the same.
    EXPECT_EQ(one->version(), later->version());
  }
  EXPECT_EQ(budget.used(), 0);
}

TEST_F(NpzCatalogTest, ALargeStoredArrayStaysInItsFiles) {
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
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->size(), 10);
  EXPECT_EQ((*dataset)->largest_sample(), 24);
  for (const std::uint64_t id : {0, 4, 5, 9}) {
    const Sample sample = (*dataset)->At(id);
    EXPECT_EQ(sample.object, id < 5 ? "a.npz" : "b.npz");
    const std::string read = GoldenNpz(id < 5 ? "stored.npz" : "rows.npz")
                                 .substr(sample.offset, sample.length);
    std::vector<FieldValue> values(2);
    MadeValues made;
    ASSERT_TRUE(
        (*dataset)->ReadValues(id, {}, absl::MakeSpan(values), &made).ok());
    EXPECT_THAT(std::get<MadeBytes>(values[0]).bytes, ElementsAre(id % 5));
    EXPECT_EQ(std::get<FieldRange>(values[1]).length, 24);
    float first = 0;
    std::memcpy(&first, read.data(), sizeof(first));
    EXPECT_EQ(first, 6 * static_cast<float>(id % 5));
  }
  Put("c.npz", GoldenNpz("deflated.npz"));
  EXPECT_THAT(std::string(load().status().message()),
              HasSubstr("c.npz: x: is deflated, but that of the first file"));
}

TEST_F(NpzCatalogTest, StopsWhereMemoryEnds) {
  Put("a.npz", GoldenNpz("deflated.npz"));
  base::MemoryBudget budget(4096);
  const absl::Status status = Open({"y"}, &budget).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(budget.used(), 0);
}

TEST_F(NpzCatalogTest, DamageIsNoticedWhenItIsOpened) {
  std::string file = GoldenNpz("rows.npz");
  const std::size_t at = file.find("NUMPY") + 140;
  file[at] ^= 1;
  Put("a.npz", file);
  EXPECT_THAT(Refusal({}, absl::StatusCode::kDataLoss),
              HasSubstr("a.npz: x.npy: is damaged: its CRC-32 is"));
}

}  // namespace
}  // namespace forebay::dataset::npz
