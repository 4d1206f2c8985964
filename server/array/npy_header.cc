#include "server/array/npy_header.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

// A file has four parts (NEP 1): the magic "\x93NUMPY" and two bytes of
// version; HEADER_LEN, little-endian, of 2 bytes in version 1 and 4 bytes in
// later ones; HEADER_LEN bytes of text, padded with blanks; and the data. The
// text is a dictionary literal in Python's notation, with exactly three keys in
// any order:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// The parser accepts what numpy.save writes and the variants that Python reads
// alike: other white space, double quotes, a missing last comma, and the suffix
// L of Python 2's integers. Other notations, such as escapes in strings, are
// DATA_LOSS. Parsing takes time linear in the text's length, which is checked
// before the text is read.

namespace forebay::array {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// The most axes of an array, as in NumPy 1 (NPY_MAXDIMS).
constexpr std::size_t kMaxDimensions = 32;
constexpr std::uint64_t kLongestText = kLongestNpyHeader - kNpyStartBytes;
// The most bytes of an array. Sums of an offset and a length then fit into 64
// bits.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

std::string_view AsText(absl::Span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Status Damaged() {
  return absl::DataLossError("has a damaged .npy header");
}

// The dictionary's values that the parser has read so far, and which keys it
// has met.
struct Entries {
  bool has_type = false;
  std::string type;
  bool has_order = false;
  bool fortran_order = false;
  bool has_shape = false;
  std::vector<std::uint64_t> shape;
};

// Takes tokens off the front of a text, which outlives the reader. Each call
// skips the white space before its token.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // Takes `token` if it comes next. Returns whether it did.
  bool Take(std::string_view token) {
    SkipSpace();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  // Whether nothing but white space is left.
  bool AtEnd() {
    SkipSpace();
    return text_.empty();
  }

  // Takes a string literal in single or double quotes. A backslash is refused:
  // no key and no type of numbers has one, and escapes would have to be
  // decoded.
  absl::StatusOr<std::string> TakeString() {
    const char quote = Take("'") ? '\'' : '"';
    if (quote == '"' && !Take("\"")) return Damaged();
    const std::size_t end = text_.find(quote);
    if (end == text_.npos) return Damaged();
    std::string value(text_.substr(0, end));
    if (value.find('\\') != value.npos) return Damaged();
    text_.remove_prefix(end + 1);
    return value;
  }

  // Takes a decimal number of at most 64 bits, without a sign.
  absl::StatusOr<std::uint64_t> TakeNumber() {
    SkipSpace();
    std::uint64_t number = 0;
    const auto parsed =
        std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (parsed.ec != std::errc()) return Damaged();
    text_.remove_prefix(parsed.ptr - text_.data());
    return number;
  }

 private:
  void SkipSpace() {
    text_.remove_prefix(
        std::min(text_.find_first_not_of(" \t\n\r\f"), text_.size()));
  }

  std::string_view text_;
};

// Takes a tuple of extents such as "(2, 3)", "(2,)" or "()".
absl::StatusOr<std::vector<std::uint64_t>> TakeShape(Reader& reader) {
  if (!reader.Take("(")) return Damaged();
  std::vector<std::uint64_t> shape;
  bool comma = true;
  while (!reader.Take(")")) {
    if (!comma || shape.size() == kMaxDimensions) return Damaged();
    FOREBAY_ASSIGN_OR_RETURN(shape.emplace_back(), reader.TakeNumber());
    // NumPy on Python 2 wrote long integers with this suffix.
    reader.Take("L");
    comma = reader.Take(",");
  }
  // A tuple of one number needs its comma: in Python, "(3)" is the number 3.
  if (shape.size() == 1 && !comma) return Damaged();
  return shape;
}

// Takes one key with its value. A key that is unknown, or comes twice, counts
// as damage.
absl::Status TakeEntry(Reader& reader, Entries& entries) {
  FOREBAY_ASSIGN_OR_RETURN(const std::string key, reader.TakeString());
  if (!reader.Take(":")) return Damaged();
  if (key == "descr" && !std::exchange(entries.has_type, true)) {
    if (reader.Take("[")) {
      return absl::UnimplementedError(
          "is a .npy file of records, of which only plain numbers can be read");
    }
    FOREBAY_ASSIGN_OR_RETURN(entries.type, reader.TakeString());
  } else if (key == "fortran_order" &&
             !std::exchange(entries.has_order, true)) {
    entries.fortran_order = reader.Take("True");
    if (!entries.fortran_order && !reader.Take("False")) return Damaged();
  } else if (key == "shape" && !std::exchange(entries.has_shape, true)) {
    FOREBAY_ASSIGN_OR_RETURN(entries.shape, TakeShape(reader));
  } else {
    return Damaged();
  }
  return absl::OkStatus();
}

// Parses the whole dictionary, which must have all three keys.
absl::StatusOr<Entries> ParseEntries(std::string_view text) {
  Reader reader(text);
  Entries entries;
  if (!reader.Take("{")) return Damaged();
  bool comma = true;
  while (!reader.Take("}")) {
    if (!comma) return Damaged();
    FOREBAY_RETURN_IF_ERROR(TakeEntry(reader, entries));
    comma = reader.Take(",");
  }
  if (!reader.AtEnd() || !entries.has_type || !entries.has_order ||
      !entries.has_shape) {
    return Damaged();
  }
  return entries;
}

// A kind of numbers in NumPy's type strings: its letter, and the sizes in bytes
// that it may have.
struct PlainType {
  char letter;
  NpyKind kind;
  // Decimal sizes, each between two blanks, so that a search for " 1 " does not
  // find "16".
  std::string_view sizes;
};
constexpr PlainType kPlainTypes[] = {
    {'b', NpyKind::kBool, " 1 "},
    {'i', NpyKind::kSigned, " 1 2 4 8 "},
    {'u', NpyKind::kUnsigned, " 1 2 4 8 "},
    {'f', NpyKind::kFloat, " 2 4 8 "},
    {'c', NpyKind::kComplex, " 8 16 "},
};

// Reads a type string such as "<f4": a byte order, a letter for the kind, and
// the bytes of an item. Items of one byte may have the order "|", which means
// that there is no order.
absl::Status ApplyType(const std::string& type, NpyHeader& header) {
  const std::string size = type.size() > 2 ? type.substr(2) : std::string();
  for (const PlainType& plain : kPlainTypes) {
    if (size.empty() || type[1] != plain.letter ||
        plain.sizes.find(absl::StrCat(" ", size, " ")) == plain.sizes.npos) {
      continue;
    }
    const bool one_byte = size == "1";
    const std::string_view orders = one_byte ? "<>=|" : "<>=";
    if (orders.find(type[0]) == std::string_view::npos) break;
    header.kind = plain.kind;
    header.item_bytes = std::stoul(size);
    header.big_endian = type[0] == '>' && !one_byte;
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("is a .npy file of items of the type \"", type,
                   "\", of which only plain numbers can be read"));
}

// Returns the number of bytes of all items together. To check for overflow,
// extents of 0 are left out of the product. Callers multiply the other extents
// of an empty array, so these must not overflow either.
absl::StatusOr<std::uint64_t> DataBytes(const NpyHeader& header) {
  std::uint64_t bytes = header.item_bytes;
  bool empty = false;
  for (const std::uint64_t extent : header.shape) {
    if (extent == 0) {
      empty = true;
    } else if (bytes > kMaxBytes / extent) {
      return Damaged();
    } else {
      bytes *= extent;
    }
  }
  return empty ? 0 : bytes;
}

// The extent of the dictionary's text in the file.
struct TextRange {
  std::size_t offset = 0;    // bytes
  std::uint64_t length = 0;  // bytes
};

// Checks the magic and the version, and reads HEADER_LEN. Only versions with
// minor number 0 exist.
absl::StatusOr<TextRange> FindText(absl::Span<const std::uint8_t> start) {
  if (!AsText(start).starts_with(kMagic)) {
    return absl::DataLossError("is not a .npy file");
  }
  const std::size_t version_at = kMagic.size();
  if (start.size() < version_at + 2) return Damaged();
  const std::uint8_t version = start[version_at];
  if (version < 1 || version > 3 || start[version_at + 1] != 0) {
    return absl::UnimplementedError(
        absl::StrCat("is a .npy file of the unknown version ", version, ".",
                     start[version_at + 1]));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  TextRange text{.offset = version_at + 2 + length_bytes};
  if (start.size() < text.offset) return Damaged();
  for (std::size_t i = length_bytes; i > 0; --i) {  // little-endian
    text.length = text.length << 8 | start[version_at + 1 + i];
  }
  if (text.length > kLongestText) {
    return absl::DataLossError(
        absl::StrCat("has a .npy header of ", text.length,
                     " bytes, of which at most ", kLongestText, " are read"));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::uint64_t> NpyHeaderBytes(
    absl::Span<const std::uint8_t> start) {
  FOREBAY_ASSIGN_OR_RETURN(const TextRange text, FindText(start));
  return text.offset + text.length;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::uint8_t> start) {
  FOREBAY_ASSIGN_OR_RETURN(const TextRange text, FindText(start));
  if (text.length > start.size() - text.offset) return Damaged();
  FOREBAY_ASSIGN_OR_RETURN(Entries entries, ParseEntries(AsText(start).substr(
                                                text.offset, text.length)));
  NpyHeader header;
  FOREBAY_RETURN_IF_ERROR(ApplyType(entries.type, header));
  header.fortran_order = entries.fortran_order;
  header.shape = std::move(entries.shape);
  header.data_offset = text.offset + text.length;
  FOREBAY_ASSIGN_OR_RETURN(header.data_bytes, DataBytes(header));
  return header;
}

}  // namespace forebay::array
