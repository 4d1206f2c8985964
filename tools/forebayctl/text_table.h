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
  // If there is no room for all, columns of the highest rank are left out
  // first; those of rank 0 never.
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

  // Returns lines that each end with a line break. `width` is in characters; 0:
  // no bound. Control characters in cells become '?'. If no more columns can be
  // left out, the widest text column is cut, with an ellipsis.
  std::string Format(std::size_t width) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the number of characters of UTF-8 text.
std::size_t DisplayWidth(const std::string& text);
// Replaces each control character by '?': names that a daemon or a user gave
// must not drive the terminal.
std::string Printable(std::string text);

// Returns the terminal's width; 0 if standard output is no terminal.
std::size_t TerminalWidth();

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_TEXT_TABLE_H_
