#include "server/dataset/object_version_lookup.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/thread_checks.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/dataset/fake_lister.h"

namespace forebay::dataset {
namespace {

class ObjectVersionLookupTest {
 protected:
  ObjectVersionLookupTest() {
    for (int i = 0; i < 20; ++i) lister_.Put(std::to_string(i), i);
  }

  // Looks up all objects, which must exist. Any thread may call it.
  void ExpectAllThere(ObjectVersionLookup& lookup) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      const auto version = lookup.Find(std::to_string(i));
      checks_.CheckOk(version.status());
      checks_.Check(version.ok() && version->size == i, "another version");
    }
  }

  tests::ThreadChecks checks_;
  FakeLister lister_;
};

TEST_CASE_METHOD(ObjectVersionLookupTest,
                 "An object version lookup asks for few objects one by one",
                 "[dataset][object_version_lookup]") {
  ObjectVersionLookup lookup(&lister_, lister_.root(), base::AmpleBudget(), {},
                             20);
  ExpectAllThere(lookup);
  CHECK(lister_.lists == 0);
}

TEST_CASE_METHOD(ObjectVersionLookupTest,
                 "An object version lookup takes one list for many objects",
                 "[dataset][object_version_lookup]") {
  ObjectVersionLookup lookup(&lister_, lister_.root(), base::AmpleBudget(), {},
                             3);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { ExpectAllThere(lookup); });
  for (std::jthread& thread : threads) thread.join();
  CHECK(lister_.lists == 1);
  CHECK(lookup.Find("20").status() ==
        absl::NotFoundError("20: there is no such object"));
}

TEST_CASE_METHOD(
    ObjectVersionLookupTest,
    "An object version lookup asks for each object where there are no lists",
    "[dataset][object_version_lookup]") {
  lister_.status = absl::UnimplementedError("no lists here");
  ObjectVersionLookup lookup(&lister_, lister_.root(), base::AmpleBudget(), {},
                             3);
  ExpectAllThere(lookup);
  CHECK(lister_.lists == 1);
}

TEST_CASE_METHOD(ObjectVersionLookupTest,
                 "An object version lookup tells that its list failed",
                 "[dataset][object_version_lookup]") {
  lister_.status = absl::UnavailableError("no connection");
  ObjectVersionLookup lookup(&lister_, lister_.root(), base::AmpleBudget(), {},
                             0);
  CHECK(lookup.Find("1").status() == lister_.status);
  CHECK(lookup.Find("2").status() == lister_.status);
}

}  // namespace
}  // namespace forebay::dataset
