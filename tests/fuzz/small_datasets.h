#ifndef FOREBAY_TESTS_FUZZ_SMALL_DATASETS_H_
#define FOREBAY_TESTS_FUZZ_SMALL_DATASETS_H_

#include <string>

namespace forebay::fuzz {

// Creates a folder with a dataset of each kind, made of some tiny images. The
// datasets are class folders "cat" and "dog", a shard "a.tar" (jpg, cls, txt),
// and tables "t.csv" and "t.jsonl" (image, class, text). The folder is removed
// when the process exits.
std::string MakeSmallDatasets();

}  // namespace forebay::fuzz

#endif  // FOREBAY_TESTS_FUZZ_SMALL_DATASETS_H_
