#ifndef FOREBAY_TOOLS_FOREBAYCTL_TEXT_TABLE_H_
#define FOREBAY_TOOLS_FOREBAYCTL_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace forebay::ctl {

struct Column {
  std::string title;
  bool numeric = false;  // aligned right
  // Where there is not room for all, columns of the highest rank go first;
  // those of rank 0 stay.
  int rank = 0;
};

// Rows of text under titles, aligned, as wide as the terminal allows. Not
// thread-safe; nothing blocks or fails.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns)
      : columns_(std::move(columns)) {}

  // One cell a column.
  void AddRow(std::vector<std::string> cells);

  // Lines that each end with a line break. `width` is in characters, 0 means no
  // bound. Control characters in cells become '?'. Once no more columns can go,
  // the widest text column is cut, with an ellipsis.
  std::string Format(std::size_t width) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Characters of UTF-8 text.
std::size_t DisplayWidth(const std::string& text);
// With '?' for each control character: what a daemon or a user named must not
// drive the terminal.
std::string Printable(std::string text);

// The terminal's width; 0 when standard output is none.
std::size_t TerminalWidth();

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_TEXT_TABLE_H_
