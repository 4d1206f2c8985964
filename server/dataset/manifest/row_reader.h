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

// The value of a row in a column.
using Cell = std::variant<std::int64_t, std::string>;

// Takes a row: the line that it begins in, and the cells of the columns that
// were asked for, which it may move from.
using RowTaker =
    std::function<absl::Status(std::uint64_t line, absl::Span<Cell> cells)>;

// Both readers read a table to its end or the first error, and give `take` the
// cells of `columns`. They count the longest row in `memory`, where it stays
// counted. Thread-safe; never block. Errors name the line: DATA_LOSS: the row
// is malformed, or lacks a column; INVALID_ARGUMENT: there is no such column;
// RESOURCE_EXHAUSTED: that of `memory`; those of `take`.

// Reads CSV. The first record has the columns' names. All cells are texts.
absl::Status ReadCsvRows(std::string_view text,
                         const std::vector<std::string>& columns,
                         base::WorkingMemory& memory, const RowTaker& take);

// Reads a JSON object from each line that is not empty. Cells are integers (see
// IntegerOf) or strings. DATA_LOSS, too: a cell is something else, or a row
// nests deeper than base::kMaxJsonDepth.
absl::Status ReadJsonRows(std::string_view text,
                          const std::vector<std::string>& columns,
                          base::WorkingMemory& memory, const RowTaker& take);

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_ROW_READER_H_
