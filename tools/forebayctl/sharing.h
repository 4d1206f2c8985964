#ifndef FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_
#define FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_

#include <string>

#include "proto/admin.pb.h"

namespace forebay::ctl {

// Returns in words how a loader shares its stream: with how many other loaders,
// how many samples it is behind the foremost of these, and what the stream does
// about that gap. Returns "-" if no epoch is under way. Thread-safe; never
// blocks; has no errors.
std::string Sharing(const proto::Loader& loader);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_
