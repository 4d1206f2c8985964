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

// Takes CSV apart, strictly as RFC 4180 has it: a quote inside of a field that
// is not quoted, or something behind the quote that ends one, is an error and
// not part of the text. Lines may end without the carriage return, too, and
// empty ones between records count for nothing. A byte order mark is passed
// over. Written for this house: the libraries in Debian take what is malformed
// for something else, or give neither line numbers nor bounds.
//
// What its longest record takes, and copies of that, is counted in `memory`,
// and stays so.
//
// Not thread-safe; `text` and `memory` outlive it; never blocks. Errors name
// the line: DATA_LOSS, RESOURCE_EXHAUSTED (that of `memory`).
class CsvReader {
 public:
  CsvReader(std::string_view text, base::WorkingMemory* memory);

  // Reads the next record, of at least one field. False: there is none.
  absl::StatusOr<bool> Next(std::vector<std::string>* record);

  // Where the record that was read last begins; from 1.
  std::uint64_t line() const { return line_; }

 private:
  absl::Status ReadQuoted(std::string* field);
  absl::Status ReadPlain(std::string* field);
  // Whether a line's end is next, which is then passed over.
  bool TakeLineEnd();
  // Counts more of the record, before it is made.
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
