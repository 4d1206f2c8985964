#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_NPY_NPY_FILE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_NPY_NPY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace forebay::dataset::npy {

// Returns a .npy file of version 2, whose header is `text`.
inline std::string NpyFileOf(std::string_view text, std::string_view data) {
  std::string file("\x93NUMPY\x02\0", 8);
  for (int shift = 0; shift < 32; shift += 8)
    file += static_cast<char>(text.size() >> shift & 0xff);
  return file.append(text).append(data);
}

// Returns a .npy file of the given type and shape, as Python writes it. Its
// `data_bytes` bytes of data are 0, 1, 2, ...
inline std::string NpyFile(const std::string& type, const std::string& shape,
                           std::size_t data_bytes, bool fortran = false) {
  std::string data;
  for (std::size_t i = 0; i < data_bytes; ++i)
    data += static_cast<char>(i & 0xff);
  return NpyFileOf(
      absl::StrCat("{'descr': '", type, "', 'fortran_order': ",
                   fortran ? "True" : "False", ", 'shape': ", shape, ", }\n"),
      data);
}

inline absl::Span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace forebay::dataset::npy

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_NPY_NPY_FILE_H_
