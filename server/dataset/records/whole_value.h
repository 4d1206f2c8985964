#ifndef FOREBAY_SERVER_DATASET_RECORDS_WHOLE_VALUE_H_
#define FOREBAY_SERVER_DATASET_RECORDS_WHOLE_VALUE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/records/value_type.h"

// Functions that make fields of records, and the values of these fields. The
// functions are thread-safe and never block.

namespace forebay::dataset::records {

// Returns a field with the given name and type, whose longest value has
// `longest` bytes.
Field FieldOf(std::string name, const ValueType& type, std::uint64_t longest);

// Returns the value of a field that consists of a whole payload. `payload` lies
// in `record`. The value is a range of `record`, or a copy in `buffers`.
// INVALID_ARGUMENT: the payload's length does not fit the array's type; the
// error does not name the field.
absl::StatusOr<FieldValue> WholeValue(const ValueType& type,
                                      absl::Span<const std::uint8_t> record,
                                      absl::Span<const std::uint8_t> payload,
                                      ValueBuffers* buffers);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_WHOLE_VALUE_H_
