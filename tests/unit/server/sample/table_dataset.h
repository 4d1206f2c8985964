#ifndef FOREBAY_TESTS_UNIT_SERVER_SAMPLE_TABLE_DATASET_H_
#define FOREBAY_TESTS_UNIT_SERVER_SAMPLE_TABLE_DATASET_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::sample {

// A dataset of eight samples, which all have the same location and values.
class TableDataset final : public dataset::FakeDataset {
 public:
  TableDataset(std::vector<dataset::Field> fields,
               std::vector<dataset::FieldValue> values,
               dataset::Sample sample = {.object = "photo",
                                         .version = {},
                                         .layout = nullptr})
      : FakeDataset({.size = 8,
                     .fields = std::move(fields),
                     .largest_sample = sample.length,
                     .root = storage::FakeRoot::Make(
                         {.uri = "table", .identity = "table"})}),
        values_(std::move(values)),
        sample_(std::move(sample)) {}

  dataset::Sample At(std::uint64_t) const override { return sample_; }
  void ValuesOf(std::uint64_t,
                absl::Span<dataset::FieldValue> values) const override {
    std::copy(values_.begin(), values_.end(), values.begin());
  }

 private:
  const std::vector<dataset::FieldValue> values_;
  const dataset::Sample sample_;
};

}  // namespace forebay::sample

#endif  // FOREBAY_TESTS_UNIT_SERVER_SAMPLE_TABLE_DATASET_H_
