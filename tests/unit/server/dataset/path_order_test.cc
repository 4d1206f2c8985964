#include "server/dataset/path_order.h"

#include <cstddef>
#include <string>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::dataset {
namespace {

TEST_CASE("The order of paths is that of Python", "[dataset][path_order]") {
  // The order is that of Python 3.11's sorted(map(os.fsdecode, ...)) on these
  // bytes.
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
      "\200",          // U+DC80, as for any byte outside UTF-8
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
      UNSCOPED_INFO(i << " " << j);
      CHECK(PathLess(sorted[i], sorted[j]) == (i < j));
    }
  }
}

TEST_CASE(
    "Equal bytes before the first difference do not matter to the order of "
    "paths",
    "[dataset][path_order]") {
  const std::vector<std::string> sorted = {
      "\303\251",              // U+00E9
      "\345\233\276",          // U+56FE
      "\345\233\277",          // U+56FF
      "\345\234\200",          // U+5700
      "\345\233",              // a truncated character: U+DCE5 U+DC9B
      "\345\233\303\251",      // U+DCE5 U+DC9B U+00E9 in sequence
      "\345\233\345\233\276",  // U+DCE5 U+DC9B U+56FE
      "\360\237\230\200",      // U+1F600
      "\360\237\230\201",      // U+1F601
  };
  for (const char* before : {"", "a", "\345\233\276", "\200\200\200\200\200"}) {
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      for (std::size_t j = 0; j < sorted.size(); ++j) {
        UNSCOPED_INFO(before << " " << i << " " << j);
        CHECK(PathLess(before + sorted[i], before + sorted[j]) == (i < j));
      }
    }
  }
}

}  // namespace
}  // namespace forebay::dataset
