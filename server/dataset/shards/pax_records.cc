#include "server/dataset/shards/pax_records.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "server/base/status.h"

namespace forebay::dataset::shards {
namespace {

absl::Status Malformed() {
  return absl::DataLossError("the pax attributes of a member are malformed");
}

// Parses a number; `text` must consist of digits only.
absl::StatusOr<std::uint64_t> ParseDecimal(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return Malformed();
  return number;
}

// An attribute. Both members point into the header's data.
struct Record {
  std::string_view key;
  std::string_view value;
};

// Removes the first record, "LENGTH KEY=VALUE\n", from `text`, and returns it.
// LENGTH is the length of the whole record, including LENGTH's digits
// (POSIX.1-2017, pax, "pax Extended Header").
absl::StatusOr<Record> TakeRecord(std::string_view& text) {
  const std::size_t blank = text.find(' ');
  if (blank == text.npos) return Malformed();
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t length,
                           ParseDecimal(text.substr(0, blank)));
  // A record has at least a blank, a key of one byte, '=' and the newline.
  if (length > text.size() || length < blank + 4) return Malformed();
  if (text[length - 1] != '\n') return Malformed();
  const std::string_view body = text.substr(blank + 1, length - blank - 2);
  const std::size_t equals = body.find('=');
  if (equals == body.npos || equals == 0) return Malformed();
  text.remove_prefix(length);
  return Record{body.substr(0, equals), body.substr(equals + 1)};
}

// Applies a record to `records`. Ignores attributes that PaxRecords does not
// have.
absl::Status Apply(const Record& record, PaxRecords& records) {
  if (record.key == "path") {
    if (record.value.find('\0') != record.value.npos) return Malformed();
    records.path.reset();
    if (!record.value.empty()) records.path = std::string(record.value);
  } else if (record.key == "size") {
    records.size.reset();
    if (record.value.empty()) return absl::OkStatus();
    FOREBAY_ASSIGN_OR_RETURN(records.size, ParseDecimal(record.value));
  } else if (record.key.starts_with("GNU.sparse.")) {
    records.sparse = true;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PaxRecords> ParsePaxRecords(
    absl::Span<const std::uint8_t> data) {
  std::string_view text(reinterpret_cast<const char*>(data.data()),
                        data.size());
  PaxRecords records;
  // Some writers count the zeros that pad the last block as data.
  while (!text.empty() && text.front() != '\0') {
    FOREBAY_ASSIGN_OR_RETURN(const Record record, TakeRecord(text));
    FOREBAY_RETURN_IF_ERROR(Apply(record, records));
  }
  return records;
}

}  // namespace forebay::dataset::shards
