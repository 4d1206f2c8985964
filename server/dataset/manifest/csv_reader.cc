// The reader goes through the text once. A field that begins with a quote is
// quoted (RFC 4180, section 2, rules 5 to 7). All other fields are plain. A
// plain field ends at a comma or a line's end, and must have neither a quote
// nor a carriage return.
//
// Errors give the number of a line. Quoted fields may have ends of lines, so
// the reader counts the lines that it passes.
#include "server/dataset/manifest/csv_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::manifest {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The most copies of a field's text that exist at one time: its string while
// the string grows, and the copy that the caller makes.
constexpr std::uint64_t kCopies = 4;
// The most bytes of memory that a field takes besides its text, while the
// vector that holds its string grows.
constexpr std::uint64_t kFieldBytes =
    3 * sizeof(std::string) + 2 * base::HeapBytes(0);

absl::Status Malformed(std::uint64_t line, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("line ", line, ": ", std::string(what)));
}

}  // namespace

CsvReader::CsvReader(std::string_view text, base::WorkingMemory* memory)
    : memory_(memory), left_(text) {
  if (left_.starts_with(kByteOrderMark)) {
    left_.remove_prefix(kByteOrderMark.size());
  }
}

absl::StatusOr<bool> CsvReader::Next(std::vector<std::string>* record) {
  record->clear();
  record_bytes_ = 0;
  while (TakeLineEnd()) {
  }
  line_ = next_line_;
  if (left_.empty()) return false;
  for (;;) {
    FOREBAY_RETURN_IF_ERROR(Count(kFieldBytes));
    std::string& field = record->emplace_back();
    FOREBAY_RETURN_IF_ERROR(left_.starts_with('"') ? ReadQuoted(&field)
                                                   : ReadPlain(&field));
    if (left_.empty() || TakeLineEnd()) return true;
    // A comma ends the field.
    left_.remove_prefix(1);
  }
}

absl::Status CsvReader::ReadQuoted(std::string* field) {
  const std::uint64_t begin = next_line_;
  left_.remove_prefix(1);
  for (;;) {
    const std::size_t quote = left_.find('"');
    if (quote == left_.npos) {
      return Malformed(begin, "a quote is opened that nothing closes");
    }
    const std::string_view piece = left_.substr(0, quote);
    next_line_ += std::count(piece.begin(), piece.end(), '\n');
    // The additional byte is for a quote, which may follow the piece.
    FOREBAY_RETURN_IF_ERROR(Count(kCopies * (piece.size() + 1)));
    field->append(piece);
    left_.remove_prefix(quote + 1);
    // Two quotes in a quoted field mean one quote (RFC 4180, section 2, rule
    // 7).
    if (!left_.starts_with('"')) break;
    *field += '"';
    left_.remove_prefix(1);
  }
  const bool ends = left_.empty() || left_.starts_with(',') ||
                    left_.starts_with('\n') || left_.starts_with("\r\n");
  if (!ends) {
    return Malformed(next_line_,
                     "something follows the quote that ends a "
                     "field");
  }
  return absl::OkStatus();
}

absl::Status CsvReader::ReadPlain(std::string* field) {
  const std::size_t end = std::min(left_.find_first_of(",\n\""), left_.size());
  if (left_.substr(end).starts_with('"')) {
    return Malformed(next_line_,
                     "a quote is in a field that does not begin with one");
  }
  std::string_view piece = left_.substr(0, end);
  left_.remove_prefix(end);
  // A carriage return before the line feed is part of the line's end.
  if (left_.starts_with('\n') && piece.ends_with('\r')) piece.remove_suffix(1);
  if (piece.find('\r') != piece.npos) {
    return Malformed(next_line_, "a carriage return ends no line");
  }
  FOREBAY_RETURN_IF_ERROR(Count(kCopies * piece.size()));
  *field = piece;
  return absl::OkStatus();
}

absl::Status CsvReader::Count(std::uint64_t bytes) {
  record_bytes_ += bytes;
  if (record_bytes_ <= counted_) return absl::OkStatus();
  const absl::Status grown = memory_->Grow(record_bytes_ - counted_);
  if (!grown.ok()) return base::Annotate(grown, absl::StrCat("line ", line_));
  counted_ = record_bytes_;
  return absl::OkStatus();
}

bool CsvReader::TakeLineEnd() {
  const std::size_t length = left_.starts_with('\n')     ? 1
                             : left_.starts_with("\r\n") ? 2
                                                         : 0;
  left_.remove_prefix(length);
  if (length > 0) ++next_line_;
  return length > 0;
}

}  // namespace forebay::dataset::manifest
