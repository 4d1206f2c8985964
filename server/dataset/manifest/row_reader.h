#ifndef FOREBAY_SERVER_DATASET_MANIFEST_ROW_READER_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_ROW_READER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"

namespace forebay::dataset::manifest {

// What a row has in a column.
using Cell = std::variant<std::int64_t, std::string>;

// Is given each row, with the line that it begins in and the cells of the
// columns that were asked for, which it may take.
using RowTaker =
    std::function<absl::Status(std::uint64_t line, absl::Span<Cell> cells)>;

// Both read a table to its end or the first error, and give `take` the cells of
// `columns`. What the longest row takes is counted in `memory`, and stays so.
// Thread-safe; never block. Errors name the line: DATA_LOSS (it is
// malformed, or lacks a column), INVALID_ARGUMENT (there is no such column),
// RESOURCE_EXHAUSTED (that of `memory`), and those of `take`.

// CSV, its first record the columns' names. All cells are texts.
absl::Status ReadCsvRows(std::string_view text,
                         const std::vector<std::string>& columns,
                         base::WorkingMemory& memory, const RowTaker& take);

// A JSON object in each line; empty lines count for nothing. Cells are integers
// (see IntegerOf) or strings. DATA_LOSS: others are, or a row nests deeper than
// base::kMaxJsonDepth.
absl::Status ReadJsonRows(std::string_view text,
                          const std::vector<std::string>& columns,
                          base::WorkingMemory& memory, const RowTaker& take);

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_ROW_READER_H_
