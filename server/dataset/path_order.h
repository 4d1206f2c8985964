#ifndef FOREBAY_SERVER_DATASET_PATH_ORDER_H_
#define FOREBAY_SERVER_DATASET_PATH_ORDER_H_

#include <string_view>

namespace forebay::dataset {

// Whether Python sorts the file name `a` before `b`. Python compares code
// points. Each byte that is not valid UTF-8 counts as a surrogate, U+DC80 to
// U+DCFF (PEP 383). This is a strict weak order. Thread-safe; never blocks.
bool PathLess(std::string_view a, std::string_view b);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_PATH_ORDER_H_
