#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_GOLDEN_HDF5_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_GOLDEN_HDF5_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// A column of a file, with h5py's values: see tests/golden/hdf5/make_golden.py.
struct GoldenColumn {
  std::string path;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

struct GoldenHdf5 {
  std::string file;
  std::vector<GoldenColumn> columns;
};

std::vector<GoldenHdf5> GoldenHdf5s();

// Returns the bytes of a file of tests/golden/hdf5.
std::string GoldenFile(const std::string& name);

inline absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Appends a little-endian number of `bytes` bytes.
inline void Append(std::uint64_t number, std::size_t bytes, std::string* file) {
  for (std::size_t i = 0; i < bytes; ++i)
    *file += static_cast<char>(number >> (8 * i));
}

// Calls `look` until the view has all bytes of the file that `look` needs.
absl::Status LookInto(const std::string& file, FileView& view,
                      absl::FunctionRef<absl::Status(FileView&)> look);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_GOLDEN_HDF5_H_
