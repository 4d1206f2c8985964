#include "tools/forebayctl/text_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace forebay::ctl {
namespace {

// The blanks between columns, and the width below which a text column is not
// cut.
constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestText = 8;

// Returns whether a byte begins a UTF-8 character. All other bytes begin with
// the bits 10 (RFC 3629 section 3).
bool StartsCharacter(char c) { return (c & 0xC0) != 0x80; }

// Returns at most `width` characters; the last one is an ellipsis if the text
// is longer.
std::string Cut(const std::string& text, std::size_t width) {
  if (DisplayWidth(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end) {
    if (StartsCharacter(text[end]) && ++characters == width) break;
  }
  return text.substr(0, end) + "…";
}

// Returns the width of the columns that are shown, with gaps between them.
std::size_t Total(const std::vector<std::size_t>& widths,
                  const std::vector<std::size_t>& shown) {
  std::size_t total = shown.empty() ? 0 : kGap * (shown.size() - 1);
  for (const std::size_t column : shown) total += widths[column];
  return total;
}

}  // namespace

void TextTable::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = Printable(std::move(cell));
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

// The table is made to fit in three steps. Each column gets the width of its
// widest cell. Then columns are left out until the others fit: the column of
// the highest rank first, and among several of that rank the leftmost. If even
// the columns of rank 0 do not fit, the widest column of text is cut. Numbers
// are never cut, because a part of a number would be a wrong number.
std::string TextTable::Format(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) {
      widest = std::max(widest, DisplayWidth(row[i]));
    }
    widths.push_back(widest);
  }
  std::vector<std::size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  while (width != 0 && Total(widths, shown) > width) {
    const auto least = std::max_element(
        shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
          return columns_[a].rank < columns_[b].rank;
        });
    if (columns_[*least].rank == 0) break;
    shown.erase(least);
  }
  const std::size_t total = Total(widths, shown);
  if (width != 0 && total > width) {
    std::size_t* widest = nullptr;
    for (const std::size_t column : shown) {
      if (columns_[column].numeric) continue;
      if (widest == nullptr || widths[column] > *widest) {
        widest = &widths[column];
      }
    }
    if (widest != nullptr) {
      const std::size_t excess = total - width;
      *widest = std::min(
          *widest,
          std::max(kNarrowestText, *widest > excess ? *widest - excess : 0));
    }
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::size_t column = shown[i];
      const std::string cell = Cut(cell_of(column), widths[column]);
      const std::string padding(widths[column] - DisplayWidth(cell), ' ');
      line += columns_[column].numeric ? padding + cell : cell + padding;
      if (i + 1 < shown.size()) line.append(kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t column) { return columns_[column].title; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t column) { return row[column]; });
  }
  return text;
}

std::size_t DisplayWidth(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), StartsCharacter));
}

std::string Printable(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) text[i] = '?';
    // The characters U+0080 to U+009F, in UTF-8 c2 80 to c2 9f, are control
    // characters that some terminals obey.
    if (c == 0xC2 && i + 1 < text.size() &&
        static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      text[i] = '?';
      text.erase(i + 1, 1);
    }
  }
  return text;
}

std::size_t TerminalWidth() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) == 0 ||
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
    return 0;
  }
  return size.ws_col;
}

}  // namespace forebay::ctl
