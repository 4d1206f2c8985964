#include "server/dataset/path_order.h"

#include <cstddef>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace forebay::dataset {
namespace {

TEST(PathOrderTest, IsPythonsOrder) {
  // sorted(map(os.fsdecode, ...)) of Python 3.11 on these bytes.
  const std::vector<std::string> sorted = {
      "",
      "A",
      "a",
      "a-",
      "a/",
      "ab",
      "\302\200",  // U+0080
      "\303\251",  // U+00E9
      "\303\251a",
      "\355\237\277",  // U+D7FF
      "\200",          // U+DC80, as all bytes that are no UTF-8
      "\302",
      "\302A",
      "\303",
      "\303A",
      "\355\240\200",
      "\377",
      "\356\200\200",      // U+E000
      "\357\277\277",      // U+FFFF
      "\360\220\200\200",  // U+10000
      "\364\217\277\277",  // U+10FFFF
  };
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      EXPECT_EQ(PathLess(sorted[i], sorted[j]), i < j) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace forebay::dataset
