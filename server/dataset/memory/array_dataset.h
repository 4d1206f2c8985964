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
#include "server/dataset/memory/memory_record_layout.h"

namespace forebay::proto {
class DatasetSpec;
}  // namespace forebay::proto

namespace forebay::dataset::memory {

// A dataset of samples that a client sent in shared memory. Each sample is one
// record of that memory (MemoryRecordLayout).
//
// Thread-safe and immutable, as Dataset says. Shares the ownership of the
// memory and reads it in place. Only Create has errors. Only Create blocks,
// while it digests the bytes.
class ArrayDataset final : public Dataset {
 public:
  // Makes the dataset that `spec` describes. Reads all of the memory, because
  // the version is a digest (XXH3) of the memory's bytes and of the fields.
  // Clients that send equal arrays therefore share one dataset.
  // INVALID_ARGUMENT: the errors of MemoryRecordLayout. Errors name the URI of
  // the spec.
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
  ArrayDataset(MemoryRecordLayout layout, const Version& version,
               const std::string& uri,
               std::shared_ptr<const base::SealedMemory> memory);

  const MemoryRecordLayout layout_;
  const Version version_;
  const std::shared_ptr<const base::SealedMemory> memory_;
  const std::shared_ptr<const storage::Root> root_;
  // Names of the classes; always empty, as arrays have no class names.
  const std::vector<std::string> classes_;
};

}  // namespace forebay::dataset::memory

#endif  // FOREBAY_SERVER_DATASET_MEMORY_ARRAY_DATASET_H_
