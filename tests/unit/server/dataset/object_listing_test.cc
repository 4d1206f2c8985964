#include "server/dataset/object_listing.h"

#include <stop_token>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/dataset/fake_lister.h"

namespace forebay::dataset {
namespace {

using tests::ElementsAre;
using tests::HasCode;

TEST_CASE("An object listing ends where an object is refused",
          "[dataset][object_listing]") {
  FakeLister lister;
  for (const char* const name : {"a", "b", "c"}) lister.Put(name);
  std::vector<std::string> names;
  const auto take = [&](const storage::ListedObject& object) {
    names.push_back(object.name);
    return object.name == "b" ? absl::ResourceExhaustedError("full")
                              : absl::OkStatus();
  };
  // The error of the callback `take` is returned, whatever the list returns.
  lister.status = absl::CancelledError("stopped");
  CHECK(TakeObjects(lister, *lister.root(), {}, take) ==
        absl::ResourceExhaustedError("full"));
  CHECK_THAT(names, ElementsAre("a", "b"));
  lister.Remove("b");
  CHECK(TakeObjects(lister, *lister.root(), {}, take) == lister.status);
}

TEST_CASE("An object listing stops when it is told to stop",
          "[dataset][object_listing]") {
  FakeLister lister;
  std::stop_source stop;
  lister.on_list = [&] { stop.request_stop(); };
  CHECK_THAT(TakeObjects(
                 lister, *lister.root(), stop.get_token(),
                 [](const storage::ListedObject&) { return absl::OkStatus(); }),
             HasCode(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace forebay::dataset
