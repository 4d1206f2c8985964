#include "tools/forebayctl/runtime_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"

namespace forebay::ctl {
namespace {

using tests::HasCode;
using tests::IsOk;

class RuntimeDirTest {
 protected:
  RuntimeDirTest() {
    char directory[] = "/tmp/forebayctl-test.XXXXXX";
    REQUIRE(mkdtemp(directory) != nullptr);
    directory_ = directory;
  }
  ~RuntimeDirTest() {
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

TEST_CASE_METHOD(RuntimeDirTest,
                 "The search for the runtime directory keeps its order",
                 "[forebayctl][runtime_dir]") {
  const std::map<std::string, std::string> all = {
      {"FOREBAY_RUNTIME_DIR", "/named"}, {"XDG_RUNTIME_DIR", directory_}};
  CHECK(Find("/option", all) == "/option");
  CHECK(Find("", all) == "/named");
  CHECK(Find("", {{"XDG_RUNTIME_DIR", directory_}}) == directory_ + "/forebay");
  const std::string last = "/tmp/forebay-" + std::to_string(getuid());
  CHECK(Find("", {}) == last);
  CHECK(Find("", {{"XDG_RUNTIME_DIR", directory_ + "/gone"}}) == last);
  std::ofstream(directory_ + "/admin.sock").put('\n');
  CHECK(Find("", {{"XDG_RUNTIME_DIR", directory_}}) == directory_);
  CHECK(Find("", all) == "/named");
}

TEST_CASE_METHOD(RuntimeDirTest,
                 "A system runtime directory of other users is passed over",
                 "[forebayctl][runtime_dir]") {
  std::ofstream(directory_ + "/admin.sock").put('\n');
  REQUIRE(chmod(directory_.c_str(), 0777) == 0);
  CHECK(Find("", {{"XDG_RUNTIME_DIR", directory_}}) == directory_ + "/forebay");
}

TEST_CASE_METHOD(RuntimeDirTest,
                 "The owners of runtime directories are checked",
                 "[forebayctl][runtime_dir]") {
  CHECK_THAT(CheckOwner(directory_), IsOk());
  CHECK_THAT(CheckOwner("/"), IsOk());
  CHECK_THAT(CheckOwner(directory_ + "/none"),
             HasCode(absl::StatusCode::kNotFound));
  CHECK_THAT(CheckOwner("/dev/null"),
             HasCode(absl::StatusCode::kFailedPrecondition));
  REQUIRE(chmod(directory_.c_str(), 0770) == 0);
  CHECK(CheckOwner(directory_).message() ==
        directory_ +
            " can be written by others: a daemon there is not trusted");
}

TEST_CASE_METHOD(RuntimeDirTest,
                 "Another user's runtime directory is not trusted",
                 "[forebayctl][runtime_dir]") {
  if (getuid() != 0) SKIP("only root can give a folder away");
  REQUIRE(chown(directory_.c_str(), 65534, 65534) == 0);
  CHECK(CheckOwner(directory_).message() ==
        directory_ +
            " belongs to uid 65534: a daemon there is not "
            "trusted");
  REQUIRE(chown(directory_.c_str(), 0, 0) == 0);
}

}  // namespace
}  // namespace forebay::ctl
