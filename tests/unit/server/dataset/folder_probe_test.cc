#include "server/dataset/folder_probe.h"

#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::chrono::hours kLong(1);

TEST_CASE("A folder probe says that a file system that answers is well",
          "[dataset][folder_probe]") {
  CHECK_THAT(FolderProbe("/tmp").Check(), IsOk());
  CHECK_THAT(FolderProbe("/no/such/folder").Check(), IsOk());
}

TEST_CASE("A folder probe waits for the file system's answer",
          "[dataset][folder_probe]") {
  std::string asked;
  const FolderProbe probe(
      "/folder", {.ask = [&](const std::string& path) { asked = path; },
                  .patience = kLong});
  CHECK_THAT(probe.Check(), IsOk());
  CHECK(asked == "/folder");
}

TEST_CASE("A folder probe says which folder does not answer until it does",
          "[dataset][folder_probe]") {
  // The probe's thread may outlive this function.
  const auto answer = std::make_shared<std::latch>(1);
  const FolderProbe probe(
      "/folder", {.ask = [answer](const std::string&) { answer->wait(); },
                  .patience = std::chrono::milliseconds(100)});
  // Once an answer is overdue, later checks do not wait for it.
  for (int i = 0; i < 2; ++i) {
    const absl::Status hung = probe.Check();
    CHECK_THAT(hung, HasCode(absl::StatusCode::kUnavailable));
    CHECK(hung.message() == "/folder: its file system does not answer");
  }
  answer->count_down();
  while (!probe.Check().ok()) {
  }
}

}  // namespace
}  // namespace forebay::dataset
