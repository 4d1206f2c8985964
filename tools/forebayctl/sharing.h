#ifndef FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_
#define FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_

#include <string>

#include "proto/admin.pb.h"

namespace forebay::ctl {

// In words, how a loader stands to those that get the same batches: with how
// many others it shares, the samples between it and who is ahead of all, and
// what is done about that. "-" without an epoch under way. Thread-safe; nothing
// blocks or fails.
std::string Sharing(const proto::Loader& loader);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_SHARING_H_
