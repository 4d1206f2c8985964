#ifndef FOREBAY_SERVER_DATASET_PRODUCED_PRODUCED_DATASET_H_
#define FOREBAY_SERVER_DATASET_PRODUCED_PRODUCED_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/memory/record_layout.h"

namespace forebay::proto {
class DatasetSpec;
}  // namespace forebay::proto

namespace forebay::dataset::produced {

// Samples that producers make by code of the user's: the daemon knows their
// number and their fields. As Dataset says.
class ProducedDataset final : public Dataset {
 public:
  // INVALID_ARGUMENT: as RecordLayout's, or the spec has no identity of 16
  // bytes, or too many lanes or host fields, or is live without one lane.
  // Errors name the spec's URI.
  static absl::StatusOr<std::shared_ptr<const Dataset>> Create(
      const proto::DatasetSpec& spec);

  std::uint64_t size() const override { return layout_.samples(); }
  const std::vector<Field>& fields() const override { return layout_.fields(); }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  bool is_produced() const override { return true; }
  std::uint32_t lanes() const override { return lanes_; }
  bool is_live() const override { return live_; }
  std::uint64_t largest_sample() const override { return 0; }
  const std::vector<std::string>& classes() const override { return classes_; }
  const Version& version() const override { return version_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  ProducedDataset(memory::RecordLayout layout, const Version& version,
                  const std::string& uri, std::uint32_t lanes, bool live);

  const memory::RecordLayout layout_;
  const Version version_;
  const std::uint32_t lanes_;
  const bool live_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<std::string> classes_;  // empty
};

}  // namespace forebay::dataset::produced

#endif  // FOREBAY_SERVER_DATASET_PRODUCED_PRODUCED_DATASET_H_
