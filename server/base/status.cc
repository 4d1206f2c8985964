#include "server/base/status.h"

#include <sys/resource.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"

namespace forebay::base {

namespace {

// Returns the words that say how many descriptors this process may have, and
// how an administrator raises the limit.
std::string DescribeDescriptorLimit() {
  struct rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return absl::StrCat(" (the limit is ", limit.rlim_cur,
                      ": LimitNOFILE= of the unit, or ulimit -n, raises it)");
}

}  // namespace

absl::Status ErrnoStatus(int error_number, std::string_view what) {
  absl::Status status = absl::ErrnoToStatus(
      error_number, absl::string_view(what.data(), what.size()));
  if (error_number != EMFILE) return status;
  return absl::Status(
      status.code(), absl::StrCat(status.message(), DescribeDescriptorLimit()));
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(absl::string_view(context.data(), context.size()), ": ",
                   status.message()));
}

}  // namespace forebay::base
