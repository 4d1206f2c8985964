#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/forebayctl/host_checks.h"

namespace forebay::ctl {

using Level = Finding::Level;

namespace {

Finding CheckLocalReads(const proto::LocalReads& reads) {
  if (reads.io_uring())
    return {Level::kOk, "local reads",
            "Local files are read through io_uring."};
  const std::string sentence = absl::StrCat(
      "Local files are read by ", reads.threads(), " threads: ",
      reads.refusal().empty() ? "storage.io_uring is \"off\"" : reads.refusal(),
      ".");
  return {reads.refusal().empty() ? Level::kOk : Level::kNote, "local reads",
          sentence};
}

}  // namespace

std::vector<Finding> CheckStorage(const proto::DaemonStatus& status) {
  std::vector<Finding> findings;
  if (status.has_local_reads())
    findings.push_back(CheckLocalReads(status.local_reads()));
  if (!status.bucket_credentials().empty())
    findings.push_back({Level::kOk, "buckets",
                        absl::StrCat("Buckets are read with ",
                                     status.bucket_credentials(), ".")});
  return findings;
}

}  // namespace forebay::ctl
