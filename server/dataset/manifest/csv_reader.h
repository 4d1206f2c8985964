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

// Reads CSV strictly by RFC 4180, section 2. A quote in the middle of an
// unquoted field is an error. A character between a closing quote and the next
// comma is an error, too. Lines may end with or without a carriage return. A
// byte order mark and empty lines between records are skipped. Debian's CSV
// libraries cannot be used: they accept malformed text, or report no line
// numbers and use memory without a bound.
//
// Not thread-safe. `text` and `memory` outlive the reader. Never blocks.
// `memory` counts the longest record and copies of it, also after the reader is
// destroyed. Errors name the line. DATA_LOSS: the text is malformed.
// RESOURCE_EXHAUSTED: `memory` cannot grow.
class CsvReader {
 public:
  // Reads the records of `text`.
  CsvReader(std::string_view text, base::WorkingMemory* memory);

  // Reads the next record, which has at least one field. Returns false at the
  // text's end.
  absl::StatusOr<bool> Next(std::vector<std::string>* record);

  // The number of the line where the last record began. Lines count from 1.
  std::uint64_t line() const { return line_; }

 private:
  // ReadQuoted reads a field that begins with a quote, and ReadPlain any other
  // field.
  absl::Status ReadQuoted(std::string* field);
  absl::Status ReadPlain(std::string* field);
  // Skips a line's end if one is next. Returns whether there was one.
  bool TakeLineEnd();
  // Counts `bytes` more of the present record, before they are stored.
  absl::Status Count(std::uint64_t bytes);

  base::WorkingMemory* const memory_;
  std::uint64_t record_bytes_ = 0;  // bytes that the present record needs
  // The bytes that memory_ counts: the most that any record needed.
  std::uint64_t counted_ = 0;
  std::string_view left_;        // the text that was not read yet
  std::uint64_t line_ = 0;       // the line where the present record began
  std::uint64_t next_line_ = 1;  // the line where left_ begins
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_CSV_READER_H_
