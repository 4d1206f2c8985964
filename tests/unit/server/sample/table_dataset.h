#ifndef FOREBAY_TESTS_UNIT_SERVER_SAMPLE_TABLE_DATASET_H_
#define FOREBAY_TESTS_UNIT_SERVER_SAMPLE_TABLE_DATASET_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/dataset/dataset.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::sample {

// Eight samples, all of the same place and the same values.
class TableDataset final : public dataset::Dataset {
 public:
  TableDataset(std::vector<dataset::Field> fields,
               std::vector<dataset::FieldValue> values,
               dataset::Sample sample = {.object = "photo",
                                         .version = {},
                                         .layout = nullptr})
      : fields_(std::move(fields)),
        values_(std::move(values)),
        sample_(std::move(sample)) {}

  std::uint64_t size() const override { return 8; }
  const std::vector<dataset::Field>& fields() const override { return fields_; }
  dataset::Sample At(std::uint64_t) const override { return sample_; }
  void ValuesOf(std::uint64_t,
                absl::Span<dataset::FieldValue> values) const override {
    std::copy(values_.begin(), values_.end(), values.begin());
  }
  std::uint64_t largest_sample() const override { return sample_.length; }
  const std::vector<std::string>& classes() const override { return classes_; }
  const dataset::Version& version() const override { return version_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  const std::vector<dataset::Field> fields_;
  const std::vector<dataset::FieldValue> values_;
  const dataset::Sample sample_;
  const std::vector<std::string> classes_;
  const dataset::Version version_ = {};
  const std::shared_ptr<const storage::Root> root_ =
      storage::FakeRoot::Make({.uri = "table", .identity = "table"});
};

}  // namespace forebay::sample

#endif  // FOREBAY_TESTS_UNIT_SERVER_SAMPLE_TABLE_DATASET_H_
