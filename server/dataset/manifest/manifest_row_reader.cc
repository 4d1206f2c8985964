#include "server/dataset/manifest/manifest_row_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/json.h"
#include "server/base/status.h"
#include "server/dataset/manifest/csv_reader.h"
#include "server/dataset/manifest/number.h"

namespace forebay::dataset::manifest {
namespace {

// The most copies of a row that exist while it is parsed: strings that grow,
// and the name of a JSON member. Each cell may hold a further copy.
constexpr std::uint64_t kCopies = 5;

template <typename... Parts>
absl::Status Malformed(std::uint64_t line, const Parts&... parts) {
  return absl::DataLossError(absl::StrCat("line ", line, ": ", parts...));
}

// Returns the index of each of `columns` in `names`.
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

// Finds the cells of `columns` while the JSON text of one row is parsed. If a
// name comes twice, the last value counts.
class JsonRow final : public base::JsonEvents {
 public:
  JsonRow(const std::vector<std::string>& columns, std::vector<Cell>* cells)
      : columns_(columns), cells_(*cells), kinds_(columns.size()) {}

  bool null() override { return Take(CellKind::kOther); }
  bool boolean(bool) override { return Take(CellKind::kOther); }
  bool number_integer(std::int64_t number) override {
    return Take(CellKind::kCell, number);
  }
  bool number_unsigned(std::uint64_t number) override {
    return number <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}
               ? Take(CellKind::kCell, static_cast<std::int64_t>(number))
               : Take(CellKind::kLargeInteger);
  }
  bool number_float(double, const std::string& text) override {
    const auto number = IntegerOf(text);
    return number.has_value() ? Take(CellKind::kCell, *number)
                              : Take(CellKind::kOther);
  }
  bool string(std::string& text) override {
    return Take(CellKind::kCell, text);
  }
  bool key(std::string& name) override {
    if (depth() == 1) name_ = name;
    return true;
  }
  bool start_object(std::size_t size) override {
    return Take(CellKind::kOther) && JsonEvents::start_object(size);
  }
  bool start_array(std::size_t size) override {
    return Take(CellKind::kOther) && JsonEvents::start_array(size);
  }

  // Checks that there is a cell for each column.
  absl::Status Check(std::uint64_t line) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      switch (kinds_[i]) {
        case CellKind::kCell:
          break;
        case CellKind::kNothing:
          return Malformed(line, "has no ", columns_[i]);
        case CellKind::kLargeInteger:
          return Malformed(line, columns_[i],
                           " is an integer of more than 64 bits");
        case CellKind::kOther:
          return Malformed(line, columns_[i],
                           " is neither a text nor an integer");
      }
    }
    return absl::OkStatus();
  }

 private:
  // The kind of value that was found for a column.
  enum class CellKind { kNothing, kCell, kLargeInteger, kOther };

  // Takes the value of the member `name_` of the row's object. Ignores values
  // within nested objects and arrays.
  template <typename Value = std::int64_t>
  bool Take(CellKind kind, const Value& value = {}) {
    if (depth() != 1) return true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] != name_) continue;
      kinds_[i] = kind;
      cells_[i] = value;
    }
    return true;
  }

  const std::vector<std::string>& columns_;
  std::vector<Cell>& cells_;
  std::vector<CellKind> kinds_;
  std::string name_;
};

}  // namespace

absl::Status ReadCsvRows(std::string_view text,
                         const std::vector<std::string>& columns,
                         base::WorkingMemory& memory, const RowTaker& take) {
  CsvReader reader(text, &memory);
  std::vector<std::string> record;
  FOREBAY_ASSIGN_OR_RETURN(const bool named, reader.Next(&record));
  if (!named) return absl::DataLossError("has no line of column names");
  const std::size_t count = record.size();
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::size_t> places,
                           FindColumns(record, reader.line(), columns));
  std::vector<Cell> cells(columns.size());
  std::vector<std::size_t> counted(columns.size());  // bytes of each cell
  for (;;) {
    FOREBAY_ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
    if (!more) return absl::OkStatus();
    if (record.size() != count) {
      return Malformed(reader.line(), "has ", record.size(),
                       record.size() == 1 ? " field" : " fields",
                       ", but there are ", count, " columns");
    }
    // Cells are copies, since a column may be chosen twice.
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t bytes = record[places[i]].size();
      if (bytes > counted[i]) {
        const absl::Status grown = memory.Grow(bytes - counted[i]);
        if (!grown.ok())
          return base::Annotate(grown, absl::StrCat("line ", reader.line()));
        counted[i] = bytes;
      }
      cells[i] = record[places[i]];
    }
    FOREBAY_RETURN_IF_ERROR(take(reader.line(), absl::MakeSpan(cells)));
  }
}

absl::Status ReadJsonRows(std::string_view text,
                          const std::vector<std::string>& columns,
                          base::WorkingMemory& memory, const RowTaker& take) {
  std::vector<Cell> cells(columns.size());
  const std::uint64_t copies = kCopies + columns.size();
  std::size_t longest = 0;  // bytes of the longest row
  for (std::uint64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == row.npos) continue;
    if (row.size() > longest) {
      const absl::Status grown = memory.Grow(copies * (row.size() - longest));
      if (!grown.ok())
        return base::Annotate(grown, absl::StrCat("line ", line));
      longest = row.size();
    }
    JsonRow events(columns, &cells);
    const absl::Status read = base::ReadJsonObject(row, &events);
    if (!read.ok()) return Malformed(line, read.message());
    FOREBAY_RETURN_IF_ERROR(events.Check(line));
    FOREBAY_RETURN_IF_ERROR(take(line, absl::MakeSpan(cells)));
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset::manifest
