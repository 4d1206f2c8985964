#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_FAKE_DATASET_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_FAKE_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/dataset/dataset.h"

namespace forebay::dataset {

// The parts of a dataset that do not depend on the sample, given as options.
// Tests derive their datasets from this class, and define At() and ValuesOf().
class FakeDataset : public Dataset {
 public:
  std::uint64_t size() const override { return options_.size; }
  const std::vector<Field>& fields() const override { return options_.fields; }
  std::uint64_t largest_sample() const override {
    return options_.largest_sample;
  }
  const std::vector<std::string>& classes() const override {
    return options_.classes;
  }
  const Version& version() const override { return options_.version; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return options_.root;
  }

  // Sets the fields. Call it before other threads see the dataset.
  void set_fields(std::vector<Field> fields) {
    options_.fields = std::move(fields);
  }

 protected:
  struct Options {
    std::uint64_t size = 0;
    std::vector<Field> fields = {};
    std::uint64_t largest_sample = 0;  // bytes
    std::vector<std::string> classes = {};
    Version version = {};
    std::shared_ptr<const storage::Root> root = nullptr;
  };

  explicit FakeDataset(Options options) : options_(std::move(options)) {}

 private:
  Options options_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_FAKE_DATASET_H_
