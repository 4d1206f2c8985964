#ifndef FOREBAY_SERVER_DATASET_MANIFEST_COLUMN_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_COLUMN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/manifest/row_reader.h"

namespace forebay::dataset::manifest {

// One column of a manifest, packed: integers if all cells are, else texts. A
// text of CSV is an integer if IntegerOf says so.
//
// Not thread-safe while cells are added; immutable and thread-safe then. Takes
// 8 bytes a cell, and the texts. Never blocks. Errors: Add.
class Column {
 public:
  // Whether texts may be integers: those of CSV.
  explicit Column(bool texts_may_be_integers)
      : texts_may_be_integers_(texts_may_be_integers) {}

  // Makes room for one more cell, counted in `memory`: its errors.
  absl::Status CountOneMore(const Cell& cell, base::WorkingMemory& memory);
  // INVALID_ARGUMENT: integers and texts are mixed; says so, and not where.
  absl::Status Add(const Cell& cell);
  // No cell follows. The row of the first empty cell, where the others are
  // integers: then the column is of no use.
  std::optional<std::uint64_t> Finish();

  // True, too, where there are no cells at all.
  bool has_integers() const { return ends_.empty(); }
  // Of integers; `row` counts cells, likewise below.
  std::int64_t IntegerAt(std::uint64_t row) const { return numbers_[row]; }
  // Of texts.
  std::string_view TextAt(std::uint64_t row) const;
  // Bytes of the longest text; 0 of integers.
  std::uint64_t longest() const { return longest_; }

  // Makes integers of texts: each its place among them all, which are returned,
  // sorted by their bytes.
  // What is made of them is counted in `memory`: its errors.
  absl::StatusOr<std::vector<std::string>> TakeClasses(
      base::WorkingMemory& memory);

  // Bytes of memory.
  std::uint64_t memory() const;

 private:
  bool texts_may_be_integers_;
  std::vector<std::int64_t> numbers_;  // cells, if they are integers
  std::string texts_;                  // cells, if they are texts
  std::vector<std::uint64_t> ends_;    // of each in them
  std::uint64_t longest_ = 0;
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_COLUMN_H_
