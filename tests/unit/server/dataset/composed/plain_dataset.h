#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_COMPOSED_PLAIN_DATASET_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_COMPOSED_PLAIN_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/dataset/dataset.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::dataset::composed {

// Sample i is the object "NAME/i", of i + 1 bytes, and its label is 10 * i.
class PlainDataset final : public Dataset {
 public:
  PlainDataset(const std::string& name, std::uint64_t size,
               std::vector<std::string> classes = {"cat", "dog"})
      : name_(name),
        size_(size),
        classes_(std::move(classes)),
        root_(storage::FakeRoot::Make({.uri = name, .identity = name})) {
    version_.fill(static_cast<std::uint8_t>(name.back()));
  }

  std::uint64_t size() const override { return size_; }
  const std::vector<Field>& fields() const override { return fields_; }
  Sample At(std::uint64_t id) const override {
    Sample sample;
    sample.object = absl::StrCat(name_, "/", id);
    sample.length = id + 1;
    return sample;
  }
  void ValuesOf(std::uint64_t id,
                absl::Span<FieldValue> values) const override {
    values[0] = FieldRange{0, id + 1};
    values[1] = static_cast<std::int64_t>(10 * id);
  }
  std::uint64_t largest_sample() const override { return size_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  const Version& version() const override { return version_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

  void set_fields(std::vector<Field> fields) { fields_ = std::move(fields); }

 private:
  const std::string name_;
  const std::uint64_t size_;
  const std::vector<std::string> classes_;
  const std::shared_ptr<const storage::Root> root_;
  Version version_ = {};
  std::vector<Field> fields_ = {{"image", proto::FieldKind::kImage, 7},
                                {"label", proto::FieldKind::kLabel, 0}};
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_COMPOSED_PLAIN_DATASET_H_
