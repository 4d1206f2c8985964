#include "server/dataset/folder_probe.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <string>

namespace forebay::dataset {
namespace {

constexpr std::chrono::hours kLong(1);

TEST(FolderProbeTest, AFileSystemThatAnswersIsWell) {
  EXPECT_TRUE(FolderProbe("/tmp").Check().ok());
  EXPECT_TRUE(FolderProbe("/no/such/folder").Check().ok());
}

TEST(FolderProbeTest, WaitsForTheAnswer) {
  std::string asked;
  const FolderProbe probe(
      "/folder", {.ask = [&](const std::string& path) { asked = path; },
                  .patience = kLong});
  EXPECT_TRUE(probe.Check().ok());
  EXPECT_EQ(asked, "/folder");
}

TEST(FolderProbeTest, SaysWhichFolderDoesNotAnswerUntilItDoes) {
  // The thread that asks may outlive this function.
  const auto answer = std::make_shared<std::latch>(1);
  const FolderProbe probe(
      "/folder", {.ask = [answer](const std::string&) { answer->wait(); },
                  .patience = std::chrono::milliseconds(100)});
  // Once it is overdue, nobody waits for it.
  for (int i = 0; i < 2; ++i) {
    const absl::Status hung = probe.Check();
    EXPECT_TRUE(absl::IsUnavailable(hung));
    EXPECT_EQ(hung.message(), "/folder: its file system does not answer");
  }
  answer->count_down();
  while (!probe.Check().ok()) {
  }
}

}  // namespace
}  // namespace forebay::dataset
