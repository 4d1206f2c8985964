#ifndef FOREBAY_CLIENT_WIRE_LOADER_SPEC_H_
#define FOREBAY_CLIENT_WIRE_LOADER_SPEC_H_

#include "client/forebay.h"
#include "proto/job.message.h"

namespace forebay::client::wire {

// MakeSamplerSpec returns the order that the options describe, and
// MakeLoaderSpec the whole loader without its dataset and pipeline. Enumerators
// have the same numbers in the options and in the messages. Thread-safe; never
// blocks or fails.
message::SamplerSpec MakeSamplerSpec(const forebay_loader_options& options);
message::LoaderSpec MakeLoaderSpec(const forebay_loader_options& options);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_LOADER_SPEC_H_
