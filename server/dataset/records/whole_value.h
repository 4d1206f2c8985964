#ifndef FOREBAY_SERVER_DATASET_RECORDS_WHOLE_VALUE_H_
#define FOREBAY_SERVER_DATASET_RECORDS_WHOLE_VALUE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/dataset.h"
#include "server/dataset/records/value_type.h"

// Fields of records by their types. Functions are thread-safe and never block.

namespace forebay::dataset::records {

// Returns the field of that name, whose longest value has so many bytes.
Field FieldOf(std::string name, const ValueType& type, std::uint64_t longest);

// Returns the value of a field that is all of a payload. It points into that,
// as a part of `record`, which holds it, or into what was made. The error gives
// the reason alone: INVALID_ARGUMENT: the payload is no such array.
absl::StatusOr<FieldValue> WholeValue(const ValueType& type,
                                      absl::Span<const std::uint8_t> record,
                                      absl::Span<const std::uint8_t> payload,
                                      MadeValues* made);

}  // namespace forebay::dataset::records

#endif  // FOREBAY_SERVER_DATASET_RECORDS_WHOLE_VALUE_H_
