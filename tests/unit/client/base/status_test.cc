#include "client/base/status.h"

#include <errno.h>
#include <sys/resource.h>

#include <string>

#include "absl/status/status.h"
#include "tests/catch/catch.h"

namespace forebay::client {
namespace {

forebay_status Of(absl::StatusCode code) {
  return FromDaemonCode(static_cast<unsigned>(code));
}

TEST_CASE(
    "A client's status tells a daemon that leaves from a source that is away",
    "[base][status]") {
  CHECK(Of(absl::StatusCode::kCancelled) == FOREBAY_UNAVAILABLE);
  CHECK(Of(absl::StatusCode::kUnavailable) == FOREBAY_SOURCE_UNAVAILABLE);
  CHECK(Of(absl::StatusCode::kUnimplemented) == FOREBAY_UNIMPLEMENTED);
  for (const forebay_status code :
       {FOREBAY_UNAVAILABLE, FOREBAY_SOURCE_UNAVAILABLE}) {
    CHECK(Status(code, "").MayPass());
  }
  CHECK_FALSE(Status(FOREBAY_UNIMPLEMENTED, "").MayPass());
}

TEST_CASE("A client's status of an errno says how to have more descriptors",
          "[base][status]") {
  rlimit limit = {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const Status status = ErrnoStatus(EMFILE, "cannot make a socket");
  CHECK(status.code == FOREBAY_RESOURCE_EXHAUSTED);
  CHECK(status.message ==
        "cannot make a socket: Too many open files (the limit of this "
        "process is " +
            std::to_string(limit.rlim_cur) + ": ulimit -n raises it)");
}

TEST_CASE("A client's status makes a fault of numbers that no code has",
          "[base][status]") {
  CHECK(FromDaemonCode(0) == FOREBAY_OK);
  CHECK(FromDaemonCode(17) == FOREBAY_INTERNAL);
  CHECK(FromDaemonCode(UINT32_MAX) == FOREBAY_INTERNAL);
}

}  // namespace
}  // namespace forebay::client
