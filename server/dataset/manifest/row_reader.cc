#include "server/dataset/manifest/row_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "server/base/status.h"
#include "server/dataset/manifest/csv_reader.h"

namespace forebay::dataset::manifest {
namespace {

using Json = nlohmann::json;

template <typename... Parts>
absl::Status Malformed(std::uint64_t line, const Parts&... parts) {
  return absl::DataLossError(absl::StrCat("line ", line, ": ", parts...));
}

// Where each of `columns` stands among `names`.
absl::StatusOr<std::vector<std::size_t>> FindColumns(
    const std::vector<std::string>& names, std::uint64_t line,
    const std::vector<std::string>& columns) {
  std::vector<std::size_t> places;
  for (const std::string& column : columns) {
    const auto found = std::find(names.begin(), names.end(), column);
    if (found == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line, ": there is no column ", column,
                       "; there is ", absl::StrJoin(names, ", ")));
    }
    if (std::find(found + 1, names.end(), column) != names.end()) {
      return Malformed(line, "two columns are called ", column);
    }
    places.push_back(found - names.begin());
  }
  return places;
}

// Takes a JSON value as a cell.
absl::StatusOr<Cell> TakeCell(Json& value, std::uint64_t line,
                              const std::string& column) {
  if (value.is_string()) return std::move(value.get_ref<std::string&>());
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() >
          std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return Malformed(line, column, " is an integer of more than 64 bits");
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return Malformed(line, column, " is neither a text nor an integer");
}

}  // namespace

absl::Status ReadCsvRows(std::string_view text,
                         const std::vector<std::string>& columns,
                         const RowTaker& take) {
  CsvReader reader(text);
  std::vector<std::string> record;
  FOREBAY_ASSIGN_OR_RETURN(const bool named, reader.Next(&record));
  if (!named) return absl::DataLossError("has no line of column names");
  const std::size_t count = record.size();
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::size_t> places,
                           FindColumns(record, reader.line(), columns));
  std::vector<Cell> cells(columns.size());
  for (;;) {
    FOREBAY_ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
    if (!more) return absl::OkStatus();
    if (record.size() != count) {
      return Malformed(reader.line(), "has ", record.size(),
                       record.size() == 1 ? " field" : " fields",
                       ", but there are ", count, " columns");
    }
    // Not moved: a column may be asked for twice.
    for (std::size_t i = 0; i < places.size(); ++i) {
      cells[i] = record[places[i]];
    }
    FOREBAY_RETURN_IF_ERROR(take(reader.line(), absl::MakeSpan(cells)));
  }
}

absl::Status ReadJsonRows(std::string_view text,
                          const std::vector<std::string>& columns,
                          const RowTaker& take) {
  std::vector<Cell> cells(columns.size());
  for (std::uint64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == row.npos) continue;
    const Json object = Json::parse(row.begin(), row.end(), nullptr,
                                    /*allow_exceptions=*/false);
    if (!object.is_object()) return Malformed(line, "is no JSON object");
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto found = object.find(columns[i]);
      if (found == object.end()) {
        return Malformed(line, "has no ", columns[i]);
      }
      Json value = *found;
      FOREBAY_ASSIGN_OR_RETURN(cells[i], TakeCell(value, line, columns[i]));
    }
    FOREBAY_RETURN_IF_ERROR(take(line, absl::MakeSpan(cells)));
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset::manifest
