#include "tools/forebayctl/runtime_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace forebay::ctl {
namespace {

class RuntimeDirTest : public testing::Test {
 protected:
  void SetUp() override {
    char directory[] = "/tmp/forebayctl-test.XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    directory_ = directory;
  }
  void TearDown() override {
    unlink((directory_ + "/admin.sock").c_str());
    rmdir(directory_.c_str());
  }

  std::string Find(const std::string& option,
                   const std::map<std::string, std::string>& variables) {
    return FindRuntimeDir(
        option,
        [&](const std::string& name) {
          const auto found = variables.find(name);
          return found == variables.end() ? "" : found->second;
        },
        directory_);
  }

  std::string directory_;
};

TEST_F(RuntimeDirTest, SearchOrder) {
  const std::map<std::string, std::string> all = {
      {"FOREBAY_RUNTIME_DIR", "/named"}, {"XDG_RUNTIME_DIR", directory_}};
  EXPECT_EQ(Find("/option", all), "/option");
  EXPECT_EQ(Find("", all), "/named");
  EXPECT_EQ(Find("", {{"XDG_RUNTIME_DIR", directory_}}),
            directory_ + "/forebay");
  const std::string last = "/tmp/forebay-" + std::to_string(getuid());
  EXPECT_EQ(Find("", {}), last);
  EXPECT_EQ(Find("", {{"XDG_RUNTIME_DIR", directory_ + "/gone"}}), last);
  std::ofstream(directory_ + "/admin.sock").put('\n');
  EXPECT_EQ(Find("", {{"XDG_RUNTIME_DIR", directory_}}), directory_);
  EXPECT_EQ(Find("", all), "/named");
}

TEST_F(RuntimeDirTest, ASystemDirectoryOfStrangersIsPassedOver) {
  std::ofstream(directory_ + "/admin.sock").put('\n');
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  EXPECT_EQ(Find("", {{"XDG_RUNTIME_DIR", directory_}}),
            directory_ + "/forebay");
}

TEST_F(RuntimeDirTest, OwnersAreChecked) {
  EXPECT_TRUE(CheckOwner(directory_).ok());
  EXPECT_TRUE(CheckOwner("/").ok());
  EXPECT_TRUE(absl::IsNotFound(CheckOwner(directory_ + "/none")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckOwner("/dev/null")));
  ASSERT_EQ(chmod(directory_.c_str(), 0770), 0);
  EXPECT_EQ(
      CheckOwner(directory_).message(),
      directory_ + " can be written by others: a daemon there is not trusted");
}

TEST_F(RuntimeDirTest, AnotherUsersDirectoryIsNotTrusted) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(chown(directory_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(CheckOwner(directory_).message(),
            directory_ +
                " belongs to uid 65534: a daemon there is not "
                "trusted");
  ASSERT_EQ(chown(directory_.c_str(), 0, 0), 0);
}

}  // namespace
}  // namespace forebay::ctl
