#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_READ_ROWS_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_READ_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/hdf5_column.h"
#include "server/dataset/hdf5/hdf5_format.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/records/record_index.h"

namespace forebay::dataset::hdf5 {

// Finds the column at `path`. If `is_kept`, the index stores its values. If
// not, they are read from the file.
absl::StatusOr<Hdf5Column> FindColumn(const std::string& file,
                                      const std::string& path, bool is_kept,
                                      base::WorkingMemory* memory);

// Finds the rows of a file. Adds the number of reads to `reads`.
absl::StatusOr<records::FileRecords> FindRows(const std::string& file,
                                              const Hdf5Format& format,
                                              const ReadSizes& sizes,
                                              base::WorkingMemory* memory,
                                              int* reads);

// Reads the rows that were found. Returns each column's values, one after the
// other.
absl::StatusOr<std::vector<std::string>> ReadRows(
    const std::string& file, const Hdf5Format& format,
    const records::FileRecords& found, std::size_t columns);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_HDF5_READ_ROWS_H_
