#ifndef FOREBAY_CLIENT_WIRE_ARRAY_RECORDS_H_
#define FOREBAY_CLIENT_WIRE_ARRAY_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/base/status.h"
#include "client/forebay_dataset.h"
#include "proto/fd.h"

namespace forebay::client::wire {

// A field of samples in memory.
struct RecordField {
  const forebay_array* array = nullptr;  // borrowed from the caller
  // The shape of one sample; images always have channels.
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;  // bytes of one sample's elements
};

// Samples in memory. Each array holds one field of all samples.
struct Records {
  std::uint64_t samples = 0;
  std::vector<RecordField> fields;
};

// Describes arrays, which must outlive *out. INVALID_ARGUMENT: an array is not
// as forebay_dataset.h requires; the message names the field. Thread-safe;
// never blocks.
Status DescribeRecords(const forebay_array* arrays, size_t count, Records* out);

// Writes the samples to a sealed memfd, one after the other, each with all its
// fields. The format is that of Arrays in proto/dataset.proto. Copies all
// elements. INVALID_ARGUMENT if a field has no data. Thread-safe.
Status WriteRecords(const Records& records, proto::Fd* out);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_ARRAY_RECORDS_H_
