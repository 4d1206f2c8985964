#ifndef FOREBAY_SERVER_DATASET_MEMORY_ARRAY_DATASET_H_
#define FOREBAY_SERVER_DATASET_MEMORY_ARRAY_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/sealed_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/memory/record_layout.h"

namespace forebay::proto {
class DatasetSpec;
}  // namespace forebay::proto

namespace forebay::dataset::memory {

// Samples in memory that a client sent. As Dataset says; holds the memory.
class ArrayDataset final : public Dataset {
 public:
  // Reads all of the memory: the version is a digest (XXH3) of it and of the
  // fields. INVALID_ARGUMENT: as RecordLayout's. Errors name the spec's URI.
  static absl::StatusOr<std::shared_ptr<const Dataset>> Create(
      const proto::DatasetSpec& spec,
      std::shared_ptr<const base::SealedMemory> memory);

  std::uint64_t size() const override { return layout_.samples(); }
  const std::vector<Field>& fields() const override { return layout_.fields(); }
  Sample At(std::uint64_t id) const override;
  void ValuesOf(std::uint64_t id, absl::Span<FieldValue> values) const override;
  std::uint64_t largest_sample() const override {
    return layout_.record_bytes();
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  const Version& version() const override { return version_; }
  const std::shared_ptr<const storage::Root>& root() const override {
    return root_;
  }

 private:
  ArrayDataset(RecordLayout layout, const Version& version,
               const std::string& uri,
               std::shared_ptr<const base::SealedMemory> memory);

  const RecordLayout layout_;
  const Version version_;
  const std::shared_ptr<const base::SealedMemory> memory_;
  const std::shared_ptr<const storage::Root> root_;
  const std::vector<std::string> classes_;  // empty
};

}  // namespace forebay::dataset::memory

#endif  // FOREBAY_SERVER_DATASET_MEMORY_ARRAY_DATASET_H_
