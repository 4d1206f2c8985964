#ifndef FOREBAY_SERVER_DATASET_MEMORY_RECORD_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_MEMORY_RECORD_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/dataset.pb.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::memory {

// Where the fields lie of samples in memory that a client sent: one record a
// sample, all of one length (proto/job.proto). An immutable value; thread-safe;
// never blocks.
class RecordLayout {
 public:
  // INVALID_ARGUMENT: the spec describes no samples.
  static absl::StatusOr<RecordLayout> Create(const proto::DatasetSpec& spec);
  // INVALID_ARGUMENT: the samples do not have so many bytes.
  absl::Status CheckBytes(std::uint64_t bytes) const;

  std::uint64_t samples() const { return samples_; }
  std::uint64_t record_bytes() const { return record_bytes_; }
  const std::vector<Field>& fields() const { return fields_; }
  // Field number `field` in a record.
  const FieldRange& part(std::size_t field) const { return parts_[field]; }

 private:
  RecordLayout() = default;

  absl::Status Add(const proto::ArrayField& field);

  std::uint64_t samples_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::vector<Field> fields_;
  std::vector<FieldRange> parts_;
};

}  // namespace forebay::dataset::memory

#endif  // FOREBAY_SERVER_DATASET_MEMORY_RECORD_LAYOUT_H_
