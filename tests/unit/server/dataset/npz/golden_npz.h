#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_NPZ_GOLDEN_NPZ_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_NPZ_GOLDEN_NPZ_H_

#include <fstream>
#include <iterator>
#include <string>

namespace forebay::dataset::npz {

// Returns a file of tests/golden/npz, which NumPy wrote. Two of its arrays
// count from 0: x float32 (n, 2, 3) and y uint8 (n,). The others are scalar
// int64, long int16, and words, which is not numeric. In stored.npz, n is 5; in
// deflated.npz, n is 6. rows.npz has only x and y, with 5 rows.
inline std::string GoldenNpz(const std::string& name) {
  std::ifstream file("tests/golden/npz/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_NPZ_GOLDEN_NPZ_H_
