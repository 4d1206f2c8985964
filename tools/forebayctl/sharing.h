#ifndef FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_
#define FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_

#include <string>

#include "proto/admin.pb.h"

namespace forebay::ctl {

// Returns in words what a loader shares: with how many others, the samples
// between it and the first of them, and what is done about that. "-" without an
// epoch under way. Thread-safe; nothing blocks or fails.
std::string Sharing(const proto::Loader& loader);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_
