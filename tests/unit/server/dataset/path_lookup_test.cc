#include "server/dataset/path_lookup.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace forebay::dataset {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::size_t> Find(const std::vector<std::string>& paths,
                              std::string_view path) {
  const auto path_of = [&](std::size_t file) -> std::string_view {
    return paths[file];
  };
  return PathLookup(paths.size(), path_of).Find(path, path_of);
}

TEST(PathLookupTest, FindsEachFileOfThoseInAnyOrder) {
  for (const std::vector<std::string>& paths :
       {std::vector<std::string>{"a", "ab", "b", "ba", "c"},
        std::vector<std::string>{"9", "10", "2", "a/1", "a"},
        std::vector<std::string>{"only"}}) {
    for (std::size_t i = 0; i < paths.size(); ++i)
      EXPECT_THAT(Find(paths, paths[i]), ElementsAre(i));
    for (const std::string_view other : {"", "0", "aa", "zz"})
      EXPECT_THAT(Find(paths, other), IsEmpty());
  }
  EXPECT_THAT(Find({}, "a"), IsEmpty());
}

TEST(PathLookupTest, FindsAllFilesOfOnePath) {
  EXPECT_THAT(Find({"b", "a", "b", "c", "b"}, "b"),
              UnorderedElementsAre(0, 2, 4));
  EXPECT_THAT(Find({"a", "b", "b", "c"}, "b"), UnorderedElementsAre(1, 2));
}

}  // namespace
}  // namespace forebay::dataset
