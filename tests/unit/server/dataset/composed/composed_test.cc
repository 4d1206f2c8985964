// Tests of datasets that are composed of others: the source of each sample, and
// the way back.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "server/dataset/composed/concatenation.h"
#include "server/dataset/composed/subset.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/dataset/composed/plain_dataset.h"

namespace forebay::dataset::composed {
namespace {

using tests::HasCode;

using DatasetPtr = std::shared_ptr<const Dataset>;

class ComposedTest {
 protected:
  DatasetPtr Plain(const std::string& name, std::uint64_t size) {
    return std::make_shared<const PlainDataset>(name, size);
  }
  DatasetPtr SubsetOf(const DatasetPtr& whole,
                      const std::vector<std::uint64_t>& ids) {
    return std::make_shared<const Subset>(
        whole, base::MakeList(ids, whole->size(), &budget_));
  }
  static DatasetPtr Concatenated(const std::vector<DatasetPtr>& parts) {
    return *Concatenation::Create(parts);
  }

  base::MemoryBudget budget_{std::uint64_t{1} << 30};
};

std::int64_t LabelOf(const Dataset& dataset, std::uint64_t id) {
  std::vector<FieldValue> values(dataset.fields().size());
  dataset.ValuesOf(id, absl::MakeSpan(values));
  return std::get<std::int64_t>(values[1]);
}

// Checks that every sample equals its source's sample, and can be found again
// from there.
void ExpectConsistent(const Dataset& dataset) {
  const std::vector<const Dataset*> sources = dataset.sources();
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    const SourceSample origin = dataset.SourceSampleOf(id);
    REQUIRE(origin.source < sources.size());
    const Dataset& source = *sources[origin.source];
    CHECK(dataset.At(id).object == source.At(origin.id).object);
    CHECK(LabelOf(dataset, id) == LabelOf(source, origin.id));
    CHECK(dataset.At(id).length <= dataset.largest_sample());
    const auto decompressed = dataset.Decompress(
        id, std::vector<std::uint8_t>(20),
        [](std::uint64_t) { return absl::Span<std::uint8_t>(); });
    CHECK(decompressed->size() == dataset.At(id).length);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (std::uint64_t sample = 0; sample < sources[i]->size(); ++sample) {
      std::vector<std::uint64_t> expected;
      for (std::uint64_t id = 0; id < dataset.size(); ++id) {
        const SourceSample origin = dataset.SourceSampleOf(id);
        if (origin.source == i && origin.id == sample) expected.push_back(id);
      }
      std::vector<std::uint64_t> found;
      dataset.FindSamples({i, sample}, &found);
      std::sort(found.begin(), found.end());
      CHECK(found == expected);
    }
  }
}

TEST_CASE_METHOD(ComposedTest, "A subset has the samples of its list",
                 "[composed]") {
  const DatasetPtr whole = Plain("a", 10);
  const DatasetPtr subset = SubsetOf(whole, {7, 2, 7, 0});
  CHECK(subset->size() == 4);
  CHECK(subset->At(1).object == "a/2");
  CHECK(LabelOf(*subset, 2) == 70);
  CHECK(subset->largest_sample() == 8);
  CHECK(subset->uri() == "a");
  CHECK(subset->classes() == whole->classes());
  ExpectConsistent(*subset);
}

TEST_CASE_METHOD(ComposedTest, "A concatenation has one part after the other",
                 "[composed]") {
  const DatasetPtr both = Concatenated({Plain("a", 3), Plain("b", 5)});
  CHECK(both->size() == 8);
  CHECK(both->At(2).object == "a/2");
  CHECK(both->At(3).object == "b/0");
  CHECK(both->largest_sample() == 5);
  CHECK(both->uri() == "a + b");
  CHECK(both->sources()[1]->root()->uri() == "b");
  ExpectConsistent(*both);
}

TEST_CASE_METHOD(ComposedTest,
                 "Any tree of subsets and concatenations is consistent",
                 "[composed]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<DatasetPtr> made = {Plain("a", 1 + random() % 9),
                                    Plain("b", 1 + random() % 9)};
    for (int step = 0; step < 4; ++step) {
      const DatasetPtr& one = made[random() % made.size()];
      if (random() % 2 == 0) {
        made.push_back(Concatenated({one, made[random() % made.size()], one}));
        continue;
      }
      std::vector<std::uint64_t> ids(1 + random() % 12);
      for (std::uint64_t& id : ids) id = random() % one->size();
      made.push_back(SubsetOf(one, ids));
    }
    for (const DatasetPtr& dataset : made) ExpectConsistent(*dataset);
  }
}

TEST_CASE_METHOD(ComposedTest, "Versions tell composed datasets apart",
                 "[composed]") {
  const DatasetPtr a = Plain("a", 5);
  const DatasetPtr b = Plain("b", 5);
  const std::vector<DatasetPtr> all = {a,
                                       b,
                                       SubsetOf(a, {0, 1}),
                                       SubsetOf(a, {1, 0}),
                                       SubsetOf(b, {0, 1}),
                                       Concatenated({a}),
                                       Concatenated({a, b}),
                                       Concatenated({b, a}),
                                       Concatenated({a, b, b})};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      UNSCOPED_INFO(i << " and " << j);
      CHECK(all[i]->version() != all[j]->version());
    }
  }
  CHECK(SubsetOf(a, {0, 1})->version() == SubsetOf(a, {0, 1})->version());
  CHECK(Concatenated({a, b})->version() == Concatenated({a, b})->version());
}

TEST_CASE_METHOD(ComposedTest,
                 "A concatenation's classes are those that all parts have",
                 "[composed]") {
  const auto other = std::make_shared<const PlainDataset>(
      "b", 2, std::vector<std::string>{"dog", "cat"});
  CHECK(Concatenated({Plain("a", 2), Plain("b", 2)})->classes() ==
        std::vector<std::string>{"cat", "dog"});
  CHECK(Concatenated({Plain("a", 2), other})->classes().empty());
}

TEST_CASE_METHOD(ComposedTest, "The parts of a concatenation have equal fields",
                 "[composed]") {
  const auto refusal = [&](std::vector<Field> fields) {
    auto other = std::make_shared<PlainDataset>("b", 2);
    other->set_fields(std::move(fields));
    const auto made = Concatenation::Create({Plain("a", 2), other});
    CHECK_THAT(made, HasCode(absl::StatusCode::kInvalidArgument));
    return std::string(made.status().message());
  };
  CHECK(refusal({{"image", proto::FieldKind::kImage, 1}}) ==
        "part 1 (b) has the fields image, but part 0 (a) image, label");
  CHECK(refusal({{"image", proto::FieldKind::kImage, 1},
                 {"label", proto::FieldKind::kText, 1}}) ==
        "the fields of part 1 (b) are of other types than those of part 0 "
        "(a)");
  CHECK_FALSE(Concatenation::Create({}).ok());
  // The longest values of the sources may differ in length.
  auto longer = std::make_shared<PlainDataset>("b", 2);
  longer->set_fields({{"image", proto::FieldKind::kImage, 99},
                      {"label", proto::FieldKind::kLabel, 0}});
  CHECK(Concatenated({Plain("a", 2), longer})->fields()[0].longest == 99);
}

TEST_CASE_METHOD(ComposedTest,
                 "A concatenation refuses more samples than can be counted",
                 "[composed]") {
  const DatasetPtr half = Plain("a", std::uint64_t{1} << 63);
  CHECK(Concatenated({half, Plain("b", INT64_MAX)})->size() == UINT64_MAX);
  const absl::Status refused = Concatenation::Create({half, half}).status();
  CHECK_THAT(refused, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK(refused.message() ==
        "with part 1 (a) there are more samples than can be counted");
}

}  // namespace
}  // namespace forebay::dataset::composed
