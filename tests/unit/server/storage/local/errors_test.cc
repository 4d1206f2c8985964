#include "server/storage/local/errors.h"

#include <errno.h>

#include <string>

#include "absl/status/status.h"
#include "server/base/status.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::storage::local {
namespace {

using tests::Contains;

TEST_CASE("A file's error names the path and the reason", "[local][errors]") {
  CHECK(FileError(ENOENT, "a/b.jpg") ==
        absl::NotFoundError("a/b.jpg: there is no such file or directory"));
  CHECK(FileError(EIO, "") == absl::UnavailableError(".: Input/output error"));
}

// The error must not blame the file.
TEST_CASE("A file's error says whose descriptors are used up",
          "[local][errors]") {
  const std::string limit = std::string(
      base::ErrnoStatus(EMFILE, "the daemon can open no further file")
          .message());
  CHECK_THAT(limit, Contains("LimitNOFILE="));
  CHECK(FileError(EMFILE, "a/b.jpg") ==
        absl::UnavailableError("a/b.jpg: " + limit));
  CHECK(FileError(ENFILE, "a/b.jpg") ==
        absl::UnavailableError(
            "a/b.jpg: the host can open no further file (sysctl "
            "fs.file-max raises the limit)"));
}

}  // namespace
}  // namespace forebay::storage::local
