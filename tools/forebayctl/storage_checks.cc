#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/forebayctl/host_checks.h"

namespace forebay::ctl {

using Level = Finding::Level;

std::vector<Finding> CheckStorage(const proto::DaemonStatus& status) {
  if (!status.has_local_reads()) return {};
  const proto::LocalReads& reads = status.local_reads();
  if (reads.io_uring()) {
    return {
        {Level::kOk, "local reads", "Local files are read through io_uring."}};
  }
  const std::string sentence = absl::StrCat(
      "Local files are read by ", reads.threads(), " threads: ",
      reads.refusal().empty() ? "storage.io_uring is \"off\"" : reads.refusal(),
      ".");
  return {{reads.refusal().empty() ? Level::kOk : Level::kNote, "local reads",
           sentence}};
}

}  // namespace forebay::ctl
