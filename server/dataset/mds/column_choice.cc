// The configuration of the first shard lists the columns. The first sample
// tells what the configuration does not: whether bytes are audio files, and the
// type and shape of arrays whose encoding is only "ndarray".
//
// If the user named no columns, all columns are chosen. Columns that cannot be
// fields are then left out, with a warning. Only the first column of images
// becomes a field of images; the others become bytes. If the user named a
// column that cannot be a field, the request fails.
#include "server/dataset/mds/column_choice.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status.h"
#include "server/dataset/mds/mds_columns.h"
#include "server/dataset/mds/mds_format.h"
#include "server/dataset/mds/mds_shard.h"
#include "server/dataset/range_read.h"
#include "server/dataset/records/content_guess.h"
#include "server/dataset/shown_name.h"

namespace forebay::dataset::mds {
namespace {

using FormatPtr = records::RecordRequest::FormatPtr;
using proto::FieldKind;

// The most columns that are named in warnings, and in an error.
constexpr std::size_t kMostNamed = 16;

// Finds the format of a dataset from the columns of the first shard, and from
// the first sample of the first shard that has samples.
class Finder {
 public:
  Finder(const records::RecordRequest& request, base::WorkingMemory& memory,
         const std::stop_token& stop, std::vector<std::string>* warnings)
      : request_(request), memory_(memory), stop_(stop), warnings_(warnings) {}

  absl::StatusOr<FormatPtr> Find(const std::vector<std::string>& names,
                                 const ColumnChoice::Types& types,
                                 const records::RecordRequest::Files& files) {
    for (const storage::ListedObject& file : files) {
      // A parser cannot detect an empty file, since it has no bytes to read.
      if (file.version.size == 0) {
        return absl::DataLossError(
            absl::StrCat(file.name, ": is not an MDS shard: it is empty"));
      }
    }
    FOREBAY_RETURN_IF_ERROR(ReadFirst(files));
    std::vector<ChosenColumn> chosen;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto named =
          std::find(names.begin(), names.end(), columns_[i].name);
      if (!names.empty() && named == names.end()) continue;
      const Type type =
          names.empty() ? std::nullopt : types[named - names.begin()];
      FOREBAY_RETURN_IF_ERROR(Choose(i, !names.empty(), type, &chosen));
    }
    if (left_out_ > kMostNamed) {
      warnings_->push_back(
          absl::StrCat(request_.root->uri(), ": is read without ",
                       left_out_ - kMostNamed, " columns more"));
    }
    FOREBAY_RETURN_IF_ERROR(Order(names, &chosen));
    if (chosen.empty() && !why_not_.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("no column can be a field: ", why_not_));
    }
    if (chosen.empty() || chosen.size() > kMaxDatasetFields) {
      return absl::InvalidArgumentError(absl::StrCat(
          "has ", chosen.size(), " columns that can be fields; 1 to ",
          kMaxDatasetFields, " must be chosen"));
    }
    return std::make_shared<const MdsFormat>(std::move(columns_),
                                             std::move(chosen));
  }

 private:
  using Type = std::optional<records::ValueType>;

  absl::StatusOr<base::Bytes> Read(const storage::ListedObject& file,
                                   const ByteRange& range) {
    return ReadRange({*request_.source, request_.root, file, range}, &memory_,
                     stop_);
  }

  // Reads the columns, and the first sample of the first shard that has
  // samples.
  absl::Status ReadFirst(const records::RecordRequest::Files& files) {
    for (const storage::ListedObject& file : files) {
      MdsShardParser parser(file, request_.read_sizes, nullptr, &memory_);
      while (const auto range = parser.next_read()) {
        FOREBAY_ASSIGN_OR_RETURN(const base::Bytes bytes, Read(file, *range));
        FOREBAY_RETURN_IF_ERROR(parser.Take(bytes.span()));
      }
      // The columns of later shards are compared when those shards are scanned.
      if (columns_.empty()) columns_ = parser.columns();
      const records::FileRecords records = parser.TakeRecords();
      if (records.ends.empty()) continue;
      FOREBAY_ASSIGN_OR_RETURN(
          first_,
          Read(file, {records.begin, records.ends.front() - records.begin}));
      parts_.resize(columns_.size());
      first_name_ = absl::StrCat(file.name, ": sample 0");
      const absl::Status split =
          SplitSample(columns_, first_.span(), absl::MakeSpan(parts_));
      return split.ok() ? split : base::Annotate(split, first_name_);
    }
    if (!columns_.empty()) return absl::OkStatus();
    return absl::DataLossError("there is no MDS shard that says its columns");
  }

  // Adds a column to `chosen`. If the column cannot be a field, leaves it out
  // with a warning. Fails instead if the user named the column (`is_asked`).
  absl::Status Choose(std::size_t number, bool is_asked, const Type& type,
                      std::vector<ChosenColumn>* chosen) {
    const MdsColumn& column = columns_[number];
    const std::string why = WhyNot(column);
    if (!why.empty()) {
      if (is_asked) {
        return absl::UnimplementedError(
            absl::StrCat("column ", ShownName(column.name), " ", why));
      }
      if (++left_out_ > kMostNamed) return absl::OkStatus();
      if (why_not_.empty())
        why_not_ = absl::StrCat("column ", ShownName(column.name), " ", why);
      warnings_->push_back(
          absl::StrCat(request_.root->uri(), ": is read without column ",
                       ShownName(column.name), ", which ", why));
      return absl::OkStatus();
    }
    ChosenColumn one{.column = number, .kind = column.kind, .array = {}};
    if (type.has_value()) {
      one.kind = type->kind;
    } else if (one.kind == FieldKind::kBytes &&
               records::IsAudio(FirstValue(number))) {
      one.kind = FieldKind::kAudio;
    } else if (one.kind == FieldKind::kImage && !is_asked &&
               std::exchange(has_image_, true)) {
      one.kind = FieldKind::kBytes;
    }
    if (!MayBe(column, one.kind) ||
        (type.has_value() && type->array && !column.array))
      return NotOf(*type, column);
    if (column.array.has_value()) {
      auto array = TypeOf(number, &one.has_rows);
      if (!array.ok()) {
        return base::Annotate(
            array.status(),
            absl::StrCat(first_name_, ": ", ShownName(column.name)));
      }
      one.array = *std::move(array);
      if (type.has_value() && !parts_.empty() &&
          (type->array != one.array || type->has_rows != one.has_rows))
        return NotOf(*type, column);
    }
    chosen->push_back(std::move(one));
    return absl::OkStatus();
  }

  // Returns the error that a column cannot be read as `type`.
  static absl::Status NotOf(const records::ValueType& type,
                            const MdsColumn& column) {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", ShownName(column.name), " has the encoding ",
                     ShownName(column.encoding), ", which is not read as \"",
                     records::TextOf(type), "\""));
  }

  // Returns the column's bytes in the first sample. Returns an empty span if no
  // shard has samples.
  absl::Span<const std::uint8_t> FirstValue(std::size_t number) const {
    if (parts_.empty()) return {};
    const FieldRange& part = parts_[number];
    return first_.span().subspan(part.offset, part.length);
  }

  // Returns the reason why a column cannot be a field, or "" if it can.
  static std::string WhyNot(const MdsColumn& column) {
    if (column.kind == FieldKind::kSampleId)
      return absl::StrCat("has the encoding ", ShownName(column.encoding),
                          ", which cannot be read");
    if (IsFieldName(column.name)) return "";
    return absl::StrCat("has a name that is not of 1 to ",
                        proto::kMaxFieldName - 1, " bytes");
  }

  // Returns the type of the column's arrays. If the encoding does not tell the
  // shape, arrays may differ along the first axis. `has_rows` is then true, and
  // the returned type is that of a row in the first sample.
  absl::StatusOr<ArrayType> TypeOf(std::size_t number, bool* has_rows) {
    const ArrayEncoding& encoding = *columns_[number].array;
    *has_rows = !encoding.shape.has_value();
    if (encoding.dtype.has_value() && encoding.shape.has_value())
      return ArrayType{.dtype = *encoding.dtype, .shape = *encoding.shape};
    if (parts_.empty())
      return ArrayType{.dtype = proto::DType::kUint8, .shape = {}};
    FOREBAY_ASSIGN_OR_RETURN(ArrayPart first,
                             ReadArrayPart(encoding, FirstValue(number)));
    if (*has_rows) first.type.shape.erase(first.type.shape.begin());
    return std::move(first.type);
  }

  // Puts the fields in the order of the names, if there are names.
  // INVALID_ARGUMENT: there is no column of one of the names.
  absl::Status Order(const std::vector<std::string>& names,
                     std::vector<ChosenColumn>* chosen) const {
    std::vector<ChosenColumn> ordered;
    for (const std::string& name : names) {
      const auto found = std::find_if(
          chosen->begin(), chosen->end(), [&](const ChosenColumn& one) {
            return columns_[one.column].name == name;
          });
      if (found == chosen->end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "there is no column ", name, "; there are ", NamesOfColumns()));
      }
      ordered.push_back(*found);
    }
    if (!names.empty()) *chosen = std::move(ordered);
    return absl::OkStatus();
  }

  // Returns the names of the first columns, for an error.
  std::string NamesOfColumns() const {
    const std::size_t named = std::min(columns_.size(), kMostNamed);
    const absl::Span<const MdsColumn> all = columns_;
    std::string names = absl::StrJoin(
        all.first(named), ", ", [](std::string* out, const MdsColumn& column) {
          out->append(ShownName(column.name));
        });
    if (named == columns_.size()) return names;
    return absl::StrCat(names, " and ", columns_.size() - named, " more");
  }

  const records::RecordRequest& request_;
  base::WorkingMemory& memory_;
  const std::stop_token& stop_;
  std::vector<std::string>* const warnings_;
  std::vector<MdsColumn> columns_;
  base::Bytes first_;       // the first sample; empty if no shard has samples
  std::string first_name_;  // the first sample's name in errors
  std::vector<FieldRange> parts_;  // each column's range in the first sample
  bool has_image_ = false;         // whether any field is an image already
  std::size_t left_out_ = 0;       // number of columns left out
  std::string why_not_;  // why the first of these columns was left out
};

}  // namespace

absl::StatusOr<ColumnChoice> ColumnChoice::Create(
    std::vector<std::string> names, const std::vector<std::string>& types) {
  if (names.size() > kMaxDatasetFields) {
    return absl::InvalidArgumentError(
        absl::StrCat("at most ", kMaxDatasetFields,
                     " columns can be named, not ", names.size()));
  }
  if (!types.empty() && types.size() != names.size())
    return absl::InvalidArgumentError("each column has one type, or none");
  Types parsed(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the column ", names[i], " comes twice"));
    }
    if (types.empty() || types[i].empty()) continue;
    auto type = records::ParseValueType(types[i]);
    if (!type.ok()) return base::Annotate(type.status(), names[i]);
    parsed[i] = *std::move(type);
  }
  return ColumnChoice(std::move(names), std::move(parsed));
}

void ColumnChoice::Complete(records::RecordRequest* request,
                            std::vector<std::string>* warnings) const {
  const std::string separator(1, '\0');
  // Indexes that were saved under the name "mds" have audio files as bytes. The
  // name "mds2" keeps these indexes from being used.
  absl::StrAppend(&request->name, separator, separator, "mds2");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    absl::StrAppend(&request->name, separator, names_[i], separator,
                    types_[i].has_value() ? records::TextOf(*types_[i]) : "");
  }
  request->make_format =
      [](std::string_view text) -> absl::StatusOr<FormatPtr> {
    return MdsFormat::Parse(text);
  };
  request->find_format = [names = names_, types = types_, request, warnings](
                             const records::RecordRequest::Files& files,
                             base::WorkingMemory& memory,
                             const std::stop_token& stop) {
    return Finder(*request, memory, stop, warnings).Find(names, types, files);
  };
}

}  // namespace forebay::dataset::mds
