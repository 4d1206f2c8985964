#include "server/pipeline/vector_target.h"

#include "server/pipeline/transform/convert.h"

namespace forebay::pipeline {

std::string_view VectorTarget() { return transform::VectorTarget(); }

}  // namespace forebay::pipeline
