#ifndef FOREBAY_SERVER_DATASET_PRODUCED_PRODUCED_DATASET_H_
#define FOREBAY_SERVER_DATASET_PRODUCED_PRODUCED_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/memory/memory_record_layout.h"

namespace forebay::proto {
class DatasetSpec;
}  // namespace forebay::proto

namespace forebay::dataset::produced {

// A dataset of samples that workers make with the user's own code. The daemon
// knows only their number and their fields; there are no bytes to read.
//
// Thread-safe and immutable, as Dataset says. Owns its fields. Never blocks.
// Only Create has errors.
class ProducedDataset final : public Dataset {
 public:
  // Makes the dataset that `spec` describes. INVALID_ARGUMENT: the fields are
  // not valid (MemoryRecordLayout::Create) or not all arrays; the identity does
  // not have 16 bytes; `affinity_workers` is more than kMaxWorkers;
  // `host_fields` is more than the number of fields; or the dataset is live,
  // and its affinity is not to exactly one worker. Errors name the URI of the
  // spec.
  static absl::StatusOr<std::shared_ptr<const Dataset>> Create(
      const proto::DatasetSpec& spec);

  std::uint64_t size() const override { return layout_.samples(); }
  const std::vector<Field>& fields() const override { return layout_.fields(); }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  bool is_produced() const override { return true; }
  std::uint32_t affinity_workers() const override { return affinity_workers_; }
  bool is_live() const override { return live_; }
  std::uint64_t largest_sample() const override { return 0; }
  const std::vector<std::string>& classes() const override { return classes_; }
  const Version& version() const override { return version_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  ProducedDataset(memory::MemoryRecordLayout layout, const Version& version,
                  const std::string& uri, std::uint32_t affinity_workers,
                  bool live);

  const memory::MemoryRecordLayout layout_;
  const Version version_;
  const std::uint32_t affinity_workers_;
  const bool live_;
  const std::shared_ptr<const storage::Root> root_;
  // Names of the classes; always empty, because workers make only arrays.
  const std::vector<std::string> classes_;
};

}  // namespace forebay::dataset::produced

#endif  // FOREBAY_SERVER_DATASET_PRODUCED_PRODUCED_DATASET_H_
