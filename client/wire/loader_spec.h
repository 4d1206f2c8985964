#ifndef FOREBAY_CLIENT_WIRE_LOADER_SPEC_H_
#define FOREBAY_CLIENT_WIRE_LOADER_SPEC_H_

#include "client/forebay.h"
#include "proto/job.message.h"

namespace forebay::client::wire {

// Returns the order, or the whole loader, that the options describe. Each
// enumerator has the same number in the options as in the messages.
// MakeLoaderSpec leaves dataset and pipeline empty. Thread-safe; never blocks
// or fails.
message::SamplerSpec MakeSamplerSpec(const forebay_loader_options& options);
message::LoaderSpec MakeLoaderSpec(const forebay_loader_options& options);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_LOADER_SPEC_H_
