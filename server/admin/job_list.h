#ifndef FOREBAY_SERVER_ADMIN_JOB_LIST_H_
#define FOREBAY_SERVER_ADMIN_JOB_LIST_H_

#include <string>
#include <vector>

#include "proto/admin.pb.h"
#include "server/admin/daemon_info.h"
#include "server/job/control.h"
#include "server/job/snapshot.h"

namespace forebay::admin {

// Translations of what the rooms say into the messages of admin.proto, where no
// cap is 0, and of what they are told out of them. Text
// that is not UTF-8 (a path may be anything) keeps its length and gets '?' in
// place of each bad byte: protobuf would refuse it. Thread-safe; nothing blocks
// or fails.
proto::JobList ToProto(const std::vector<job::JobSnapshot>& jobs);
proto::DaemonStatus ToProto(const DaemonInfo& info,
                            const std::vector<job::JobSnapshot>& jobs);

job::JobChange FromProto(const proto::SetJobRequest& request);

std::string ValidUtf8(const std::string& text);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_JOB_LIST_H_
