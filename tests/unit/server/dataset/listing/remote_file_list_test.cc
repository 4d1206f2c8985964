#include "server/dataset/listing/remote_file_list.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_lister.h"

namespace forebay::dataset::listing {
namespace {

using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;

class RemoteFileListTest {
 protected:
  absl::StatusOr<std::vector<std::string>> List(
      const std::vector<std::string>& patterns) {
    const auto files =
        ListRemoteFiles(lister_, *lister_.root(), patterns, memory_, {});
    if (!files.ok()) return files.status();
    std::vector<std::string> paths;
    for (const storage::ListedObject& file : *files) {
      CHECK(file.version == *lister_.Stat(*lister_.root(), file.name, {}));
      paths.push_back(file.name);
    }
    return paths;
  }

  FakeLister lister_;
  base::WorkingMemory memory_{base::AmpleBudget(), "files"};
};

TEST_CASE_METHOD(RemoteFileListTest,
                 "A remote file list has named files in their order",
                 "[listing][remote_file_list]") {
  std::vector<std::string> expected;
  for (int i = 127; i >= 0; --i) {
    const std::string number = std::to_string(i);
    expected.push_back("a/" + std::string(3 - number.size(), '0') + number +
                       ".tar");
    lister_.Put(expected.back(), 512 * i + 1);
  }
  CHECK(*List({"a/{127..000}.tar"}) == expected);
  CHECK(lister_.lists == 0);
}

TEST_CASE_METHOD(RemoteFileListTest,
                 "A remote file list matches patterns as paths are matched",
                 "[listing][remote_file_list]") {
  for (const char* name :
       {"b-10.tar", "b-9.tar", "b-1.tgz", ".b-2.tar", "sub/b-3.tar",
        "sub/deep/b-4.tar", "c-1.tar", "c-1.tar.idx"})
    lister_.Put(name);
  CHECK_THAT(*List({"*.tar"}), ElementsAre("b-10.tar", "b-9.tar", "c-1.tar"));
  CHECK_THAT(
      *List({"c-1.tar", "{sub,sub/deep}/*.tar", "b-?.tar"}),
      ElementsAre("c-1.tar", "sub/b-3.tar", "sub/deep/b-4.tar", "b-9.tar"));
  CHECK_THAT(*List({"*/b-[0-9].tar"}), ElementsAre("sub/b-3.tar"));
  CHECK(lister_.lists == 3);
}

TEST_CASE_METHOD(RemoteFileListTest,
                 "A remote file list gives back the memory of its steps",
                 "[listing][remote_file_list]") {
  constexpr std::uint64_t kObjects = 20000;
  for (std::uint64_t i = 0; i < kObjects; ++i)
    lister_.Put(std::string(60, 'x') + std::to_string(kObjects + i) + "-1.tar");
  base::MemoryBudget budget(std::uint64_t{1} << 30);
  base::WorkingMemory memory(&budget, "files");
  const auto files =
      ListRemoteFiles(lister_, *lister_.root(), {"*.tar"}, memory, {});
  REQUIRE_THAT(files, IsOk());
  REQUIRE(files->size() == kObjects);
  // The reserved memory of these steps can be used by later work.
  const std::uint64_t used = budget.used();
  std::uint64_t results = files->capacity() * sizeof(files->front());
  for (const storage::ListedObject& file : *files)
    results += base::HeapBytes(file.name.size());
  REQUIRE_THAT(memory.Grow(results / 2), IsOk());
  CHECK(budget.used() == used);
}

TEST_CASE_METHOD(
    RemoteFileListTest,
    "A remote file list takes the object named like the pattern if none fits",
    "[listing][remote_file_list]") {
  lister_.Put("a[1].tar");
  CHECK_THAT(*List({"a[1].tar"}), ElementsAre("a[1].tar"));
  lister_.Put("a1.tar");
  CHECK_THAT(*List({"a[1].tar"}), ElementsAre("a1.tar"));
}

TEST_CASE_METHOD(RemoteFileListTest, "A remote file list says what is missing",
                 "[listing][remote_file_list]") {
  lister_.Put("a-1.tar");
  CHECK(List({"a-{1..2}.tar"}).status() ==
        absl::NotFoundError("a-2.tar: is not there"));
  CHECK(List({"b*.tar"}).status() ==
        absl::NotFoundError("b*.tar: no object fits this pattern"));
  CHECK_THAT(List({"a-{1..2.tar"}),
             HasCode(absl::StatusCode::kInvalidArgument));
  lister_.status = absl::UnavailableError("no connection");
  CHECK(List({"*.tar"}).status() == lister_.status);
}

}  // namespace
}  // namespace forebay::dataset::listing
