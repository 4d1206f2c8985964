#include "client/base/status.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "absl/status/status.h"

namespace forebay::client {
namespace {

forebay_status Of(absl::StatusCode code) {
  return FromDaemonCode(static_cast<unsigned>(code));
}

TEST(StatusTest, TellsADaemonThatLeavesFromASourceThatIsAway) {
  EXPECT_EQ(Of(absl::StatusCode::kCancelled), FOREBAY_UNAVAILABLE);
  EXPECT_EQ(Of(absl::StatusCode::kUnavailable), FOREBAY_SOURCE_UNAVAILABLE);
  EXPECT_EQ(Of(absl::StatusCode::kUnimplemented), FOREBAY_UNIMPLEMENTED);
  for (const forebay_status code :
       {FOREBAY_UNAVAILABLE, FOREBAY_SOURCE_UNAVAILABLE}) {
    EXPECT_TRUE(Status(code, "").MayPass());
  }
  EXPECT_FALSE(Status(FOREBAY_UNIMPLEMENTED, "").MayPass());
}

TEST(StatusTest, ErrnoSaysHowToHaveMoreDescriptors) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const Status status = ErrnoStatus(EMFILE, "cannot make a socket");
  EXPECT_EQ(status.code, FOREBAY_RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.message,
            "cannot make a socket: Too many open files (the limit of this "
            "process is " +
                std::to_string(limit.rlim_cur) + ": ulimit -n raises it)");
}

TEST(StatusTest, OfNumbersThatNoCodeHasMakesAFault) {
  EXPECT_EQ(FromDaemonCode(0), FOREBAY_OK);
  EXPECT_EQ(FromDaemonCode(17), FOREBAY_INTERNAL);
  EXPECT_EQ(FromDaemonCode(UINT32_MAX), FOREBAY_INTERNAL);
}

}  // namespace
}  // namespace forebay::client
