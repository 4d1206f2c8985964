#ifndef FOREBAY_TOOLS_FOREBAYCTL_TEXT_TABLE_H_
#define FOREBAY_TOOLS_FOREBAYCTL_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace forebay::ctl {

// A column of a table.
struct TableColumn {
  std::string title;
  bool numeric = false;  // aligned right
  // If there is no room for all columns, columns of the highest rank are left
  // out first. Columns of rank 0 are never left out.
  int rank = 0;
};

// Rows of text under titles, aligned, as wide as the terminal allows. Not
// thread-safe. The caller owns it. Never blocks. Has no errors.
class TextTable {
 public:
  explicit TextTable(std::vector<TableColumn> columns)
      : columns_(std::move(columns)) {}

  // Adds a row, which has a cell for each column.
  void AddRow(std::vector<std::string> cells);

  // Returns the titles and the rows as lines, each with a line break. Lines
  // have at most `width` characters; 0 sets no bound. Control characters in
  // cells become '?'. If no more columns can be left out, the widest text
  // column is cut, with an ellipsis.
  std::string Format(std::size_t width) const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the number of characters of UTF-8 text.
std::size_t DisplayWidth(const std::string& text);
// Returns the text with '?' in place of each control character, so that names
// from a daemon or a user cannot control the terminal.
std::string Printable(std::string text);

// Returns the terminal's width in characters; 0 if standard output is not a
// terminal.
std::size_t TerminalWidth();

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_TEXT_TABLE_H_
