#ifndef FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_COLUMN_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_COLUMN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/manifest/manifest_row_reader.h"

namespace forebay::dataset::manifest {

// The cells of a column of a manifest. The column has integers if all its cells
// are integers, and otherwise texts. IntegerOf decides whether a text in a CSV
// file is an integer. Takes 8 bytes a cell, and the texts' bytes.
//
// Not thread-safe while cells are added; immutable and thread-safe after
// Finish. Owns the cells. Never blocks.
class ManifestColumn {
 public:
  // Makes an empty column. Texts in CSV may be integers; texts in JSON are not.
  explicit ManifestColumn(bool texts_may_be_integers)
      : texts_may_be_integers_(texts_may_be_integers) {}

  // Makes room for `cell`, and counts it in `memory`. Errors are those of
  // `memory`.
  absl::Status CountOneMore(const Cell& cell, base::WorkingMemory& memory);
  // Adds a cell. INVALID_ARGUMENT: the column has both integers and texts; the
  // error does not name the row.
  absl::Status Add(const Cell& cell);
  // To be called after all cells were added. If some cells are empty and all
  // others are integers, the column cannot be used, and Finish returns the row
  // of the first empty cell.
  std::optional<std::uint64_t> Finish();

  // Whether all cells are integers, or there are no cells.
  bool has_integers() const { return ends_.empty(); }
  // Returns the integer in a row. Rows count from 0. has_integers() must be
  // true.
  std::int64_t IntegerAt(std::uint64_t row) const { return numbers_[row]; }
  // Returns the text in a row. has_integers() must be false.
  std::string_view TextAt(std::uint64_t row) const;
  // Bytes of the longest text; 0 for integers.
  std::uint64_t longest() const { return longest_; }

  // Returns the distinct texts, sorted by their bytes, and replaces each text
  // by its index among them. Counts the new memory in `memory`. Errors are
  // those of `memory`.
  absl::StatusOr<std::vector<std::string>> TakeClasses(
      base::WorkingMemory& memory);

  // Returns the memory that the cells take, in bytes.
  std::uint64_t memory() const;

 private:
  bool texts_may_be_integers_;
  std::vector<std::int64_t> numbers_;  // cells that are integers
  std::string texts_;                  // cells that are texts, back to back
  std::vector<std::uint64_t> ends_;    // end of each text in texts_, in bytes
  std::uint64_t longest_ = 0;          // bytes of the longest text
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_MANIFEST_COLUMN_H_
