#ifndef FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_ROW_READER_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_ROW_READER_H_

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

// The value of a row in a column: an integer or a text.
using Cell = std::variant<std::int64_t, std::string>;

// A function that takes a row: the number of the line where the row begins, and
// the cells of the chosen columns. May move from the cells.
using RowTaker =
    std::function<absl::Status(std::uint64_t line, absl::Span<Cell> cells)>;

// Both functions read a table to its end or to the first error, and pass the
// cells of `columns` to `take`. `memory` counts the longest row, also after the
// function has returned. Thread-safe; never block. Errors name the line.
// DATA_LOSS: a row is malformed, or lacks a column. INVALID_ARGUMENT: the table
// does not have one of the columns. RESOURCE_EXHAUSTED: `memory` cannot grow.
// Others: those of `take`.

// Reads CSV. The first record has the names of the columns. All cells are
// texts.
absl::Status ReadCsvRows(std::string_view text,
                         const std::vector<std::string>& columns,
                         base::WorkingMemory& memory, const RowTaker& take);

// Reads a JSON object from each line that is not empty. Cells are integers (see
// IntegerOf) or strings. DATA_LOSS also means that a cell is of another type,
// or a row nests deeper than base::kMaxJsonDepth.
absl::Status ReadJsonRows(std::string_view text,
                          const std::vector<std::string>& columns,
                          base::WorkingMemory& memory, const RowTaker& take);

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_ROW_READER_H_
