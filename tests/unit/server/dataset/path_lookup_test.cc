#include "server/dataset/path_lookup.h"

#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::dataset {
namespace {

using tests::ElementsAre;
using tests::IsEmpty;
using tests::UnorderedElementsAre;

std::vector<std::size_t> Find(const std::vector<std::string>& paths,
                              std::string_view path) {
  const auto path_of = [&](std::size_t file) -> std::string_view {
    return paths[file];
  };
  return PathLookup(paths.size(), path_of).Find(path, path_of);
}

TEST_CASE("A path lookup finds each file whatever the order of the files",
          "[dataset][path_lookup]") {
  for (const std::vector<std::string>& paths :
       {std::vector<std::string>{"a", "ab", "b", "ba", "c"},
        std::vector<std::string>{"9", "10", "2", "a/1", "a"},
        std::vector<std::string>{"only"}}) {
    for (std::size_t i = 0; i < paths.size(); ++i)
      CHECK_THAT(Find(paths, paths[i]), ElementsAre(i));
    for (const std::string_view other : {"", "0", "aa", "zz"})
      CHECK_THAT(Find(paths, other), IsEmpty());
  }
  CHECK_THAT(Find({}, "a"), IsEmpty());
}

TEST_CASE("A path lookup finds all files of one path",
          "[dataset][path_lookup]") {
  CHECK_THAT(Find({"b", "a", "b", "c", "b"}, "b"),
             UnorderedElementsAre(0, 2, 4));
  CHECK_THAT(Find({"a", "b", "b", "c"}, "b"), UnorderedElementsAre(1, 2));
}

}  // namespace
}  // namespace forebay::dataset
