#include "server/base/status.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <string>

namespace forebay::base {
namespace {

TEST(StatusTest, ErrnoNamesWhatFailed) {
  const absl::Status status = ErrnoStatus(ENOENT, "a/b.jpg");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "a/b.jpg: No such file or directory");
}

TEST(StatusTest, ErrnoSaysHowToHaveMoreDescriptors) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const absl::Status status = ErrnoStatus(EMFILE, "a/b.jpg");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "a/b.jpg: Too many open files (the limit is " +
                std::to_string(limit.rlim_cur) +
                ": LimitNOFILE= of the unit, or ulimit -n, raises it)");
}

TEST(StatusTest, AnnotationKeepsTheCode) {
  const absl::Status status =
      Annotate(absl::DataLossError("is cut off"), "a/b.jpg");
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "a/b.jpg: is cut off");
  EXPECT_TRUE(Annotate(absl::OkStatus(), "a/b.jpg").ok());
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

TEST(StatusTest, MacrosHandOnErrorsAndMoveValues) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Quarter(2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Quarter(0).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace forebay::base
