#include "server/dataset/npz/npz_format.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/npz/npz_archive.h"
#include "server/dataset/npz/npz_parser.h"

namespace forebay::dataset::npz {
namespace {

// The text of a format is one of these two starts, then a zero byte and a name
// for each array.
constexpr std::string_view kStart = "npz files";
constexpr std::string_view kClassesStart = "npz classes";
constexpr char kLabel[] = "label";

std::string TextOf(const std::vector<std::string>& names, bool has_labels) {
  std::string text(has_labels ? kClassesStart : kStart);
  for (const std::string& name : names) text.append(1, '\0').append(name);
  return text;
}

// Returns the size in bytes of the buffer that a member is decompressed into,
// rounded up so that the next array is aligned to 64 bytes. A stored member
// needs no buffer.
std::uint64_t RoomOf(const zip::ZipMember& member) {
  constexpr std::uint64_t kAlignment = 64;
  if (member.method == zip::ZipMethod::kStored) return 0;
  return (member.length + kAlignment - 1) / kAlignment * kAlignment;
}

// Returns the value of an array. A stored array is a range of `record`, the
// whole file. A deflated array is decompressed into `room`.
absl::StatusOr<FieldValue> ReadArray(const zip::ZipMember& member,
                                     absl::Span<const std::uint8_t> record,
                                     absl::Span<std::uint8_t> room) {
  if (member.header_offset > record.size())
    return absl::DataLossError("lies behind the end of the archive");
  FOREBAY_ASSIGN_OR_RETURN(
      FieldRange range, DataOf(member, record.subspan(member.header_offset)));
  range.offset += member.header_offset;
  const auto data = record.subspan(range.offset, range.length);
  const bool is_stored = member.method == zip::ZipMethod::kStored;
  room = room.first(is_stored ? 0 : member.length);
  FOREBAY_RETURN_IF_ERROR(Decompress(member, data, room).status());
  if (is_stored) return range;
  return ComputedBytes{room};
}

}  // namespace

absl::Status CheckNames(const std::vector<std::string>& names,
                        bool has_labels) {
  const std::size_t most = kMaxDatasetFields - (has_labels ? 1 : 0);
  if (names.empty() || names.size() > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", names.size(), " arrays that can be fields; name 1 to ",
        most, " by fields="));
  }
  for (const std::string& name : names) {
    if (has_labels && name == kLabel) {
      return absl::InvalidArgumentError(
          "the array label has the name of the classes' field: name others by "
          "fields=, or leave the classes out by labels=False");
    }
    if (!IsFieldName(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the array ", name, " can be no field: its name is not of 1 to ",
          proto::kMaxFieldName - 1, " bytes"));
    }
    if (std::count(names.begin(), names.end(), name) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the array ", name, " comes twice"));
    }
  }
  return absl::OkStatus();
}

NpzFormat::NpzFormat(std::vector<std::string> names, bool has_labels)
    : names_(std::move(names)),
      has_labels_(has_labels),
      text_(TextOf(names_, has_labels)) {}

absl::StatusOr<std::shared_ptr<const NpzFormat>> NpzFormat::Create(
    std::vector<std::string> names, bool has_labels) {
  FOREBAY_RETURN_IF_ERROR(CheckNames(names, has_labels));
  return std::shared_ptr<const NpzFormat>(
      new NpzFormat(std::move(names), has_labels));
}

absl::StatusOr<std::shared_ptr<const NpzFormat>> NpzFormat::Parse(
    std::string_view text) {
  std::vector<std::string> names;
  const bool has_labels = text.starts_with(kClassesStart);
  const std::string_view start = has_labels ? kClassesStart : kStart;
  if (text.starts_with(start)) {
    text.remove_prefix(start.size());
    while (text.starts_with('\0')) {
      text.remove_prefix(1);
      names.emplace_back(text.substr(0, text.find('\0')));
      text.remove_prefix(names.back().size());
    }
  }
  if (!text.empty() || !CheckNames(names, has_labels).ok())
    return absl::DataLossError("is of samples that are not .npz files");
  return Create(std::move(names), has_labels);
}

absl::StatusOr<std::unique_ptr<records::RecordParser>> NpzFormat::Parse(
    const storage::ListedObject& file, const ReadSizes&,
    base::WorkingMemory* memory) const {
  return NpzParser::Create(file, &names_, memory);
}

std::vector<Field> NpzFormat::FieldsOf(
    const records::RecordIndex& index) const {
  std::vector<Field> fields;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    // The bounds are those of the .npy files, including their headers. An index
    // without files has no bounds.
    Field field{.name = names_[i], .kind = proto::FieldKind::kArray};
    if (i < index.bounds().size() && index.size() > 0) {
      field.longest = index.bounds()[i].longest;
      field.shortest = index.bounds()[i].shortest;
    }
    fields.push_back(std::move(field));
  }
  if (has_labels_)
    fields.push_back({.name = kLabel, .kind = proto::FieldKind::kLabel});
  return fields;
}

absl::Status NpzFormat::ReadValues(absl::Span<const std::uint8_t> record,
                                   absl::Span<FieldValue> values,
                                   ValueBuffers* buffers) const {
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<zip::ZipMember> members,
                           ReadMembers(record));
  // The lengths are added up first, because all arrays share one buffer, which
  // can be requested only once.
  std::vector<const zip::ZipMember*> arrays;
  std::uint64_t decompressed = 0;  // bytes
  std::uint64_t bytes = 0;         // bytes of that buffer
  for (const std::string& name : names_) {
    arrays.push_back(FindArray(members, name));
    if (arrays.back() == nullptr) return NoSuchArray(name, members);
    FOREBAY_RETURN_IF_ERROR(CountDecompressed(*arrays.back(), &decompressed));
    bytes += RoomOf(*arrays.back());
  }
  absl::Span<std::uint8_t> room;
  if (bytes > 0) {
    FOREBAY_ASSIGN_OR_RETURN(room, buffers->AddDecompressed(bytes));
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    auto value = ReadArray(*arrays[i], record, room);
    if (!value.ok()) return base::Annotate(value.status(), names_[i]);
    values[i] = *value;
    room.remove_prefix(RoomOf(*arrays[i]));
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset::npz
