#ifndef FOREBAY_SERVER_DATASET_MANIFEST_CSV_READER_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_CSV_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/working_memory.h"

namespace forebay::dataset::manifest {

// Reads CSV strictly as RFC 4180 has it. It is an error if a quote stands in a
// field that is not quoted, or if anything follows the quote that ends a field.
// Lines may end without the carriage return, too. Empty lines between records,
// and a byte order mark, are skipped. Debian's libraries misread malformed
// text, or give neither line numbers nor bounds.
//
// Not thread-safe; `text` and `memory` outlive it. Never blocks. Counts its
// longest record, and copies of it, in `memory`, where they stay counted.
// Errors name the line: DATA_LOSS: malformed; RESOURCE_EXHAUSTED: that of
// `memory`.
class CsvReader {
 public:
  CsvReader(std::string_view text, base::WorkingMemory* memory);

  // Reads the next record, of at least one field. Returns false at the end.
  absl::StatusOr<bool> Next(std::vector<std::string>* record);

  // The line where the last record began; from 1.
  std::uint64_t line() const { return line_; }

 private:
  absl::Status ReadQuoted(std::string* field);
  absl::Status ReadPlain(std::string* field);
  // Skips a line's end if one is next. Returns whether it did.
  bool TakeLineEnd();
  // Counts more of the record before it is made.
  absl::Status Count(std::uint64_t bytes);

  base::WorkingMemory* const memory_;
  std::uint64_t record_bytes_ = 0;
  std::uint64_t counted_ = 0;  // bytes, of the longest record
  std::string_view left_;
  std::uint64_t line_ = 0;
  std::uint64_t next_line_ = 1;  // of what is left
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_CSV_READER_H_
