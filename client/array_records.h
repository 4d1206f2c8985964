#ifndef FOREBAY_CLIENT_ARRAY_RECORDS_H_
#define FOREBAY_CLIENT_ARRAY_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/fd.h"
#include "client/forebay_dataset.h"
#include "client/status.h"

namespace forebay::client {

// A field of samples in memory, as the daemon is told of it.
struct RecordField {
  const forebay_array* array = nullptr;
  std::vector<std::uint64_t>
      shape;                // of one sample; of an image: with channels
  std::uint64_t bytes = 0;  // of one sample's elements
};

// Arrays of which each is one field of all samples.
struct Records {
  std::uint64_t samples = 0;
  std::vector<RecordField> fields;
};

// FOREBAY_INVALID_ARGUMENT: the arrays are not as forebay_dataset.h says; names
// the field. Borrows the arrays.
Status FindRecords(const forebay_array* arrays, size_t count, Records* out);

// The samples one after the other, each with all of its fields, in sealed
// memory: as proto/job.proto says of ARRAYS.
Status WriteRecords(const Records& records, Fd* out);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_ARRAY_RECORDS_H_
