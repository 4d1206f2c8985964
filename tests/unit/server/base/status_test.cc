#include "server/base/status.h"

#include <errno.h>
#include <sys/resource.h>

#include <memory>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using tests::HasCode;
using tests::IsOk;

TEST_CASE("The daemon's status of an errno names what failed",
          "[base][status]") {
  const absl::Status status = ErrnoStatus(ENOENT, "a/b.jpg");
  CHECK_THAT(status, HasCode(absl::StatusCode::kNotFound));
  CHECK(status.message() == "a/b.jpg: No such file or directory");
}

TEST_CASE("The daemon's status of an errno says how to have more descriptors",
          "[base][status]") {
  rlimit limit = {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const absl::Status status = ErrnoStatus(EMFILE, "a/b.jpg");
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK(status.message() ==
        "a/b.jpg: Too many open files (the limit is " +
            std::to_string(limit.rlim_cur) +
            ": LimitNOFILE= of the unit, or ulimit -n, raises it)");
}

TEST_CASE("Annotation of a status keeps the code", "[base][status]") {
  const absl::Status status =
      Annotate(absl::DataLossError("is cut off"), "a/b.jpg");
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK(status.message() == "a/b.jpg: is cut off");
  CHECK_THAT(Annotate(absl::OkStatus(), "a/b.jpg"), IsOk());
}

absl::StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::make_unique<int>(value / 2);
}

absl::StatusOr<int> Quarter(int value) {
  FOREBAY_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(value));
  FOREBAY_ASSIGN_OR_RETURN(std::unique_ptr<int> quarter, Half(*half));
  FOREBAY_RETURN_IF_ERROR(*quarter == 0 ? absl::OutOfRangeError("nothing left")
                                        : absl::OkStatus());
  return *quarter;
}

TEST_CASE("The status macros hand on errors and move values",
          "[base][status]") {
  CHECK(*Quarter(8) == 2);
  CHECK_THAT(Quarter(1), HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(Quarter(2), HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(Quarter(0), HasCode(absl::StatusCode::kOutOfRange));
}

}  // namespace
}  // namespace forebay::base
