#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_NPZ_GOLDEN_NPZ_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_NPZ_GOLDEN_NPZ_H_

#include <fstream>
#include <iterator>
#include <string>

namespace forebay::dataset::npz {

// Returns a file that NumPy wrote, by its name in tests/golden/npz. Two of its
// arrays count from 0: x float32 (n, 2, 3) and y uint8 (n,). The others are
// scalar int64, long int16, and words, which are not numbers. n is 5 in
// stored.npz and 6 in deflated.npz. rows.npz has only x and y, of 5 rows.
inline std::string GoldenNpz(const std::string& name) {
  std::ifstream file("tests/golden/npz/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_NPZ_GOLDEN_NPZ_H_
