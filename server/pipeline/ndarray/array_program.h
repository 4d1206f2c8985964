#ifndef FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_PROGRAM_H_
#define FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/pipeline/ndarray/array_op.h"
#include "server/pipeline/ndarray/element_steps.h"

namespace forebay::pipeline::ndarray {

// An op on arrays, and the number of its random stream.
struct ArrayProgramOp {
  std::unique_ptr<const ArrayOp> op;
  std::uint16_t stream = 0;
};

// The checked ops of a field: `ops` choose and order elements, then `steps`
// change each element.
struct ArrayProgram {
  std::vector<ArrayProgramOp> ops;
  ElementSteps steps;
};

}  // namespace forebay::pipeline::ndarray

#endif  // FOREBAY_SERVER_PIPELINE_NDARRAY_ARRAY_PROGRAM_H_
