#include "server/dataset/hdf5/element_type.h"

#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::hdf5 {
namespace {

using proto::DType;
using Kind = ElementType::Kind;

// The Class of a Datatype message (HDF5 File Format Specification v3.0
// IV.A.2.d). Class 11, complex numbers, is newer than that version.
enum class Class : std::uint8_t {
  kInteger = 0,
  kFloat = 1,
  kTime = 2,
  kText = 3,
  kBits = 4,
  kOpaque = 5,
  kCompound = 6,
  kReference = 7,
  kEnum = 8,
  kVariable = 9,
  kArray = 10,
  kComplex = 11,
};

// Bounds the depth of types within types and the number of a compound's
// members. A damaged message could claim any depth and any number.
constexpr int kDeepest = 4;
constexpr std::size_t kMostMembers = 1024;

absl::Status Damaged() {
  return absl::DataLossError("is damaged: its datatype contradicts itself");
}

// Returns the DType of integers of `size` bytes, if there is one.
std::optional<DType> IntegerOf(std::uint64_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? DType::kInt8 : DType::kUint8;
    case 2:
      return is_signed ? DType::kInt16 : DType::kUint16;
    case 4:
      return is_signed ? DType::kInt32 : DType::kUint32;
    case 8:
      return is_signed ? DType::kInt64 : DType::kUint64;
    default:
      return std::nullopt;
  }
}

// Parses one message from front to back. A type begins with a class and version
// (1 byte), a bit field of flags (3 bytes), and the size of an element (4
// bytes). Properties follow, which depend on the class. The properties of
// compounds, enums, arrays and sequences contain whole types.
//
// Parsing goes on after a type that cannot be read, because another member of
// the same compound may be readable. The unreadable type becomes kOther with a
// description.
class Parser {
 public:
  explicit Parser(Bytes message) : cursor_(message) {}

  // Parses the type that comes next. `depth` is the number of types that
  // contain it.
  absl::StatusOr<ElementType> Parse(int depth) {
    if (depth > kDeepest) return Damaged();
    const auto start = cursor_.Take(1);
    const auto kind = static_cast<Class>(start % 16);
    version_ = static_cast<unsigned>(start / 16);
    flags_ = cursor_.Take(3);
    ElementType type;
    type.size = cursor_.Take(4);
    if (!cursor_.ok() || type.size == 0) return Damaged();
    FOREBAY_RETURN_IF_ERROR(ParseProperties(kind, depth, &type));
    if (!cursor_.ok()) return Damaged();
    return type;
  }

 private:
  absl::Status ParseProperties(Class kind, int depth, ElementType* type) {
    switch (kind) {
      case Class::kInteger:
        return ParseInteger(type);
      case Class::kFloat:
        return ParseFloat(type);
      case Class::kText:
        type->kind = Kind::kText;
        type->padding = flags_ % 16 == 0   ? TextPadding::kTerminated
                        : flags_ % 16 == 1 ? TextPadding::kZeros
                                           : TextPadding::kSpaces;
        type->description = absl::StrCat("text of ", type->size, " bytes");
        return absl::OkStatus();
      case Class::kOpaque:
        type->kind = Kind::kBytes;
        type->description = absl::StrCat("opaque, ", type->size, " bytes");
        cursor_.Skip(flags_ % 256);
        return absl::OkStatus();
      case Class::kCompound:
        return ParseCompound(depth, type);
      case Class::kEnum:
        return ParseEnum(depth, type);
      case Class::kVariable:
        return ParseVariable(depth, type);
      case Class::kArray:
        return ParseArray(depth, type);
      case Class::kTime:
        type->description = "time";
        cursor_.Skip(2);
        return absl::OkStatus();
      case Class::kBits:
        type->description = "bit field";
        cursor_.Skip(4);
        return absl::OkStatus();
      case Class::kReference:
        type->description = "reference";
        return absl::OkStatus();
      case Class::kComplex:
        type->description = "complex number";
        return Parse(depth + 1).status();
    }
    return Damaged();
  }

  // Parses a fixed-point number: bit 0 of the flags is the byte order, bit 3
  // the sign. Numbers with unused bits become kOther.
  absl::Status ParseInteger(ElementType* type) {
    const bool is_signed = (flags_ & 8) != 0;
    const std::uint64_t first = cursor_.Take(2);
    const std::uint64_t bits = cursor_.Take(2);
    const auto dtype = IntegerOf(type->size, is_signed);
    type->description = absl::StrCat(is_signed ? "int" : "uint", bits);
    if (!dtype.has_value() || first != 0 || bits != 8 * type->size) {
      absl::StrAppend(&type->description, " in ", type->size, " bytes");
      return absl::OkStatus();
    }
    type->kind = Kind::kNumber;
    type->dtype = *dtype;
    type->big_endian = (flags_ & 1) != 0;
    return absl::OkStatus();
  }

  // Parses a floating-point number. The properties locate exponent and
  // mantissa; only the three IEEE 754 formats below can be read. Bit 6 of the
  // flags means VAX byte order.
  absl::Status ParseFloat(ElementType* type) {
    struct Format {
      std::string_view name;
      DType dtype;
      std::uint64_t size, exponent_at, exponent, mantissa;
    };
    constexpr Format kFormats[] = {
        {"float16", DType::kFloat16, 2, 10, 5, 10},
        {"float32", DType::kFloat32, 4, 23, 8, 23},
        {"float64", DType::kFloat64, 8, 52, 11, 52},
    };
    cursor_.Skip(4);  // Bit Offset and Bit Precision
    const std::uint64_t exponent_at = cursor_.Take(1);
    const std::uint64_t exponent = cursor_.Take(1);
    cursor_.Skip(1);
    const std::uint64_t mantissa = cursor_.Take(1);
    cursor_.Skip(4);
    type->description =
        absl::StrCat("float of ", type->size, " bytes with an exponent of ",
                     exponent, " bits");
    if ((flags_ & 0x40) != 0) return absl::OkStatus();  // VAX order
    for (const Format& format : kFormats) {
      if (format.size != type->size || format.exponent != exponent ||
          format.exponent_at != exponent_at || format.mantissa != mantissa)
        continue;
      type->kind = Kind::kNumber;
      type->description = std::string(format.name);
      type->dtype = format.dtype;
      type->big_endian = (flags_ & 1) != 0;
    }
    return absl::OkStatus();
  }

  // Parses an enum, which is read as its base type. The names of the enum come
  // first, then its values. h5py writes booleans as an enum of FALSE (0) and
  // TRUE (1) in one byte.
  absl::Status ParseEnum(int depth, ElementType* type) {
    const std::uint64_t count = flags_ % 65536;
    const unsigned version = version_;
    FOREBAY_ASSIGN_OR_RETURN(ElementType base, Parse(depth + 1));
    if (base.kind != Kind::kNumber || base.size != type->size) return Damaged();
    bool is_bool = count == 2 && base.size == 1;
    for (std::uint64_t i = 0; i < count && cursor_.ok(); ++i) {
      const std::string_view name = TakeName(version);
      is_bool = is_bool && name == (i == 0 ? "FALSE" : "TRUE");
    }
    const Bytes values = cursor_.TakeBytes(count * base.size);
    is_bool = is_bool && values.size() == 2 && values[0] == 0 && values[1] == 1;
    *type = std::move(base);
    if (is_bool) {
      type->dtype = DType::kBool;
      type->description = "bool";
    }
    return absl::OkStatus();
  }

  // Parses a type of variable length: a text (type 1 in the flags), or a
  // sequence of a base type. A sequence can be read if its base type is a plain
  // number.
  absl::Status ParseVariable(int depth, ElementType* type) {
    const bool is_text = flags_ % 16 == 1;
    FOREBAY_ASSIGN_OR_RETURN(const ElementType base, Parse(depth + 1));
    if (is_text) {
      type->kind = Kind::kVariableText;
      type->description = "text of any length";
      return absl::OkStatus();
    }
    type->description = absl::StrCat("sequences of ", base.description);
    if (base.kind != Kind::kNumber || !base.shape.empty())
      return absl::OkStatus();
    type->kind = Kind::kSequence;
    type->dtype = base.dtype;
    type->big_endian = base.big_endian;
    return absl::OkStatus();
  }

  // Parses an array type. Its extents become those of the element. An array of
  // anything but numbers is kOther. Versions below 3 also have three reserved
  // bytes and a permutation of the axes.
  absl::Status ParseArray(int depth, ElementType* type) {
    const unsigned version = version_;
    const std::uint64_t rank = cursor_.Take(1);
    if (version < 3) cursor_.Skip(3);
    std::vector<std::uint64_t> shape;
    std::uint64_t elements = 1;
    for (std::uint64_t i = 0; i < rank && cursor_.ok(); ++i) {
      shape.push_back(cursor_.Take(4));
      if (shape.back() == 0 || shape.back() > type->size / elements)
        return Damaged();
      elements *= shape.back();
    }
    if (version < 3) cursor_.Skip(4 * rank);
    const std::uint64_t size = type->size;
    FOREBAY_ASSIGN_OR_RETURN(ElementType base, Parse(depth + 1));
    if (size / elements != base.size || size % elements != 0) return Damaged();
    base.description = absl::StrCat("arrays of ", base.description);
    base.size = size;
    if (base.kind != Kind::kNumber) base.kind = Kind::kOther;
    base.shape.insert(base.shape.begin(), shape.begin(), shape.end());
    *type = std::move(base);
    return absl::OkStatus();
  }

  // Parses a compound's members. Before version 3, a member's offset has 4
  // bytes. Since version 3, it has as many bytes as the compound's size needs.
  absl::Status ParseCompound(int depth, ElementType* type) {
    const std::uint64_t count = flags_ % 65536;
    const unsigned version = version_;
    if (count == 0 || count > kMostMembers) return Damaged();
    const auto offset_bytes =
        static_cast<std::size_t>((std::bit_width(type->size) + 7) / 8);
    type->kind = Kind::kCompound;
    type->description = "compound";
    for (std::uint64_t i = 0; i < count; ++i) {
      CompoundMember member;
      member.name = std::string(TakeName(version));
      member.offset = cursor_.Take(version >= 3 ? offset_bytes : 4);
      std::vector<std::uint64_t> shape;
      if (version == 1) shape = TakeOldShape();
      FOREBAY_ASSIGN_OR_RETURN(member.type, Parse(depth + 1));
      if (!shape.empty()) member.type.kind = Kind::kOther;
      if (member.name.empty() || member.offset > type->size ||
          member.type.size > type->size - member.offset)
        return Damaged();
      type->members.push_back(std::move(member));
    }
    return absl::OkStatus();
  }

  // Takes the array extents that a member of version 1 may have: a rank, a
  // reserved part, and always four extents.
  std::vector<std::uint64_t> TakeOldShape() {
    const std::uint64_t rank = cursor_.Take(1);
    cursor_.Skip(3 + 4 + 4);
    std::vector<std::uint64_t> shape;
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t extent = cursor_.Take(4);
      if (static_cast<std::uint64_t>(i) < rank) shape.push_back(extent);
    }
    return shape;
  }

  // Takes a name that a NUL ends. Versions below 3 pad it to a multiple of 8
  // bytes.
  std::string_view TakeName(unsigned version) {
    constexpr std::size_t kPadded = 8;
    const std::string_view name = cursor_.TakeText();
    const std::size_t bytes = name.size() + 1;
    if (version < 3) cursor_.Skip((kPadded - bytes % kPadded) % kPadded);
    return name;
  }

  ByteCursor cursor_;
  // Version and flags of the type that was begun last. A type within that type
  // overwrites both, so functions copy what they need later.
  unsigned version_ = 0;
  std::uint64_t flags_ = 0;
};

}  // namespace

absl::StatusOr<ElementType> ParseElementType(Bytes message) {
  return Parser(message).Parse(0);
}

}  // namespace forebay::dataset::hdf5
