#ifndef FOREBAY_SERVER_PIPELINE_PREFIX_H_
#define FOREBAY_SERVER_PIPELINE_PREFIX_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/program.h"

namespace forebay::pipeline {

// The ops of a program that come first and do the same to a sample each time:
// resizes, and crops of their middle. What random ops follow does not matter.
struct Prefix {
  std::size_t ops = 0;        // 0: decoding alone
  std::uint64_t variant = 0;  // names what they make, in every program; not 0
};

// Pure function.
Prefix PrefixOf(const Program& program);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PREFIX_H_
