#include "server/storage/local/errors.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "server/base/status.h"

namespace forebay::storage::local {
namespace {

TEST(FileErrorTest, NamesThePathAndTheReason) {
  EXPECT_EQ(FileError(ENOENT, "a/b.jpg"),
            absl::NotFoundError("a/b.jpg: there is no such file or directory"));
  EXPECT_EQ(FileError(EIO, ""),
            absl::UnavailableError(".: Input/output error"));
}

// The file is not to blame.
TEST(FileErrorTest, SaysWhoseDescriptorsAreUsedUp) {
  const std::string limit = std::string(
      base::ErrnoStatus(EMFILE, "the daemon can open no further file")
          .message());
  EXPECT_NE(limit.find("LimitNOFILE="), std::string::npos) << limit;
  EXPECT_EQ(FileError(EMFILE, "a/b.jpg"),
            absl::UnavailableError("a/b.jpg: " + limit));
  EXPECT_EQ(FileError(ENFILE, "a/b.jpg"),
            absl::UnavailableError(
                "a/b.jpg: the host can open no further file (sysctl "
                "fs.file-max raises the limit)"));
}

}  // namespace
}  // namespace forebay::storage::local
