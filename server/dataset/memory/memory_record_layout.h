#ifndef FOREBAY_SERVER_DATASET_MEMORY_MEMORY_RECORD_LAYOUT_H_
#define FOREBAY_SERVER_DATASET_MEMORY_MEMORY_RECORD_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/dataset.pb.h"
#include "server/dataset/dataset.h"

namespace forebay::dataset::memory {

// The places of the fields in samples that a client sent in memory. Each sample
// is one record, all records have one length, and fields follow one another
// within a record without padding (proto/job.proto).
//
// An immutable value: thread-safe, owns its fields, never blocks. Only Create
// and CheckBytes have errors, which do not name the dataset.
class MemoryRecordLayout {
 public:
  using Fields = google::protobuf::RepeatedPtrField<proto::ArrayField>;

  // Makes the layout of samples that have these fields, of which the first
  // `host_fields` stay in host memory, even for loaders on GPUs.
  // INVALID_ARGUMENT: there are no fields or too many, or a field has a bad
  // name, kind, type or shape.
  static absl::StatusOr<MemoryRecordLayout> Create(
      const Fields& fields, std::uint64_t samples,
      std::uint32_t host_fields = 0);
  // Checks that all samples together have `bytes` bytes. INVALID_ARGUMENT: they
  // do not.
  absl::Status CheckBytes(std::uint64_t bytes) const;

  // Number of samples.
  std::uint64_t samples() const { return samples_; }
  // Bytes of one record.
  std::uint64_t record_bytes() const { return record_bytes_; }
  const std::vector<Field>& fields() const { return fields_; }
  // Returns the range of a record that field number `field` takes.
  const FieldRange& part(std::size_t field) const { return parts_[field]; }

 private:
  MemoryRecordLayout() = default;

  // Appends a field to the record. Errors name the field.
  absl::Status Add(const proto::ArrayField& field);

  std::uint64_t samples_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::vector<Field> fields_;
  std::vector<FieldRange> parts_;
};

}  // namespace forebay::dataset::memory

#endif  // FOREBAY_SERVER_DATASET_MEMORY_MEMORY_RECORD_LAYOUT_H_
