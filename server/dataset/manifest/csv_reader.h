#ifndef FOREBAY_SERVER_DATASET_MANIFEST_CSV_READER_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_CSV_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace forebay::dataset::manifest {

// Takes CSV apart, strictly as RFC 4180 has it: a quote inside of a field that
// is not quoted, or something behind the quote that ends one, is an error and
// not part of the text. Lines may end without the carriage return, too, and
// empty ones between records count for nothing. A byte order mark is passed
// over. Written for this house: the libraries in Debian take what is malformed
// for something else, or give neither line numbers nor bounds.
//
// Not thread-safe; `text` outlives it; never blocks. Errors name the line:
// DATA_LOSS.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text);

  // Reads the next record, of at least one field. False: there is none.
  absl::StatusOr<bool> Next(std::vector<std::string>* record);

  // Where the record that was read last begins; from 1.
  std::uint64_t line() const { return line_; }

 private:
  absl::Status ReadQuoted(std::string* field);
  absl::Status ReadPlain(std::string* field);
  // Whether a line's end is next, which is then passed over.
  bool TakeLineEnd();

  std::string_view left_;
  std::uint64_t line_ = 0;
  std::uint64_t next_line_ = 1;  // of what is left
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_CSV_READER_H_
