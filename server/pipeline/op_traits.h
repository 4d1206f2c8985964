#ifndef FOREBAY_SERVER_PIPELINE_OP_TRAITS_H_
#define FOREBAY_SERVER_PIPELINE_OP_TRAITS_H_

#include <string>

#include "absl/status/status.h"
#include "proto/job.pb.h"
#include "proto/op_options.pb.h"

namespace forebay::pipeline {

// These functions read what ops say of themselves by the options of
// proto/op_options.proto. All are thread-safe; none blocks.

// Returns the traits of an op; no traits for an op of a kind that this daemon
// does not know.
const proto::OpTraits& TraitsOf(const proto::Op& op);

// Whether the op changes data of a domain.
bool HasDomain(const proto::Op& op, proto::OpTraits::Domain domain);

// Returns the title of op number `index`, counted from 0, for messages, such as
// "transform 2 (RandomCrop)".
std::string OpTitle(int index, const proto::Op& op);

// Checks the numbers of an op against their bounds, and its enums.
// INVALID_ARGUMENT names the parameter that is wrong, without the op's title.
absl::Status CheckFields(const proto::Op& op);

// Checks that a pipeline draws nothing at random. INVALID_ARGUMENT names the op
// that does.
absl::Status CheckNothingRandom(const proto::PipelineSpec& spec);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_OP_TRAITS_H_
