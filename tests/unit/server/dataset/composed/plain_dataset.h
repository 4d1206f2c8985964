#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_COMPOSED_PLAIN_DATASET_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_COMPOSED_PLAIN_DATASET_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/server/dataset/fake_dataset.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::dataset::composed {

// A dataset whose sample i is the object "NAME/i" of i + 1 bytes, with the
// label 10 * i.
class PlainDataset final : public FakeDataset {
 public:
  PlainDataset(const std::string& name, std::uint64_t size,
               std::vector<std::string> classes = {"cat", "dog"})
      : FakeDataset(
            {.size = size,
             .fields = {{"image", proto::FieldKind::kImage, 7},
                        {"label", proto::FieldKind::kLabel, 0}},
             .largest_sample = size,
             .classes = std::move(classes),
             .version = VersionOf(name),
             .root = storage::FakeRoot::Make({.uri = name, .identity = name})}),
        name_(name) {}

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
  // Returns the first bytes of `compressed`, as many as the sample has.
  absl::StatusOr<absl::Span<const std::uint8_t>> Decompress(
      std::uint64_t id, absl::Span<const std::uint8_t> compressed,
      DecompressionRoom) const override {
    return compressed.first(id + 1);
  }

 private:
  static Version VersionOf(const std::string& name) {
    Version version = {};
    version.fill(static_cast<std::uint8_t>(name.back()));
    return version;
  }

  const std::string name_;
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_COMPOSED_PLAIN_DATASET_H_
