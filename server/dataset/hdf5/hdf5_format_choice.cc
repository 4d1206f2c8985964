#include "server/dataset/hdf5/hdf5_format_choice.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/base/status.h"
#include "server/dataset/dataset.h"
#include "server/dataset/hdf5/hdf5_format.h"
#include "server/dataset/hdf5/hdf5_parser.h"
#include "server/dataset/hdf5/path_pattern.h"
#include "server/dataset/hdf5/sample_patterns.h"
#include "server/dataset/records/content_guess.h"
#include "server/storage/local/local_root.h"
#include "server/storage/local/writer_lock.h"

namespace forebay::dataset::hdf5 {
namespace {

using FormatPtr = records::RecordRequest::FormatPtr;
using Kind = ElementType::Kind;

// A row of at most this many bytes is not worth a read of its own.
constexpr std::uint64_t kSmallRow = 64;

// Bytes added to the weight of sequences: later values may be longer.
constexpr std::uint64_t kSequenceWeight = 1024;

// The index stores no column of variable length above this weight, because
// later values may be too long.
constexpr std::uint64_t kLongSequence = kMostIndexedBytes / 4 * 3;

// The index should store the rows of a dataset with at most this many bytes, if
// each row lies in several chunks.
constexpr std::uint64_t kFewBytes = std::uint64_t{64} << 20;

// The most left-out datasets that warnings name. Others are only counted.
constexpr std::size_t kMostLeftOut = 64;

// Whether the index should store the rows of a dataset.
bool IsBetterKept(const ArrayLayout& array) {
  if (array.kind == ArrayLayout::Kind::kCompact) return true;
  return !array.has_whole_rows() &&
         array.rows() * array.row_bytes() <= kFewBytes;
}

// Whether the first values decide the field type of a column.
bool IsGuessed(const Hdf5Column& column) {
  if (column.value.kind == proto::FieldKind::kBytes) return true;
  return column.type.kind == Kind::kVariableText ||
         column.type.kind == Kind::kBytes ||
         (column.type.kind == Kind::kSequence &&
          proto::SizeOf(column.type.dtype) == 1);
}

// Refuses local files that a writer has locked. Old superblocks have no flag
// that shows a writer. The error, FAILED_PRECONDITION, names the file.
absl::Status CheckWriterLocks(const storage::Root& root,
                              const records::RecordRequest::Files& files,
                              const std::stop_token& stop) {
  const auto* const local =
      dynamic_cast<const storage::local::LocalRoot*>(&root);
  if (local == nullptr) return absl::OkStatus();
  for (const storage::ListedObject& file : files) {
    if (stop.stop_requested())
      return absl::CancelledError("was not scanned to the end");
    FOREBAY_ASSIGN_OR_RETURN(
        const bool is_locked,
        storage::local::IsLockedByWriter(*local, file.name));
    if (!is_locked) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(file.name,
                     ": is open for writing, and rows that are not written yet "
                     "would be zeros: close the file in its writer first"));
  }
  return absl::OkStatus();
}

// Returns the path without empty parts, such as those that "//" makes.
std::string WithoutEmptyParts(const std::string& path) {
  return absl::StrJoin(absl::StrSplit(path, '/', absl::SkipEmpty()), "/");
}

// Whether all names are patterns of one group, or none is a pattern.
bool AreOfOneGroup(const std::vector<std::string>& names) {
  const auto group = [](const std::string& name) {
    const auto pattern = SplitPattern(name);
    return pattern.has_value() ? pattern->group + "/*" : std::string();
  };
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return group(name) == group(names.front());
  });
}

// Returns the number of rows that most datasets have. If two numbers are
// equally frequent, returns the larger one.
std::uint64_t MostFrequentRows(const std::vector<ListedArray>& arrays) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const ListedArray& one : arrays) {
    if (one.array.ok() && !(*one.array)->shape.empty())
      ++counts[(*one.array)->rows()];
  }
  const auto most = std::max_element(
      counts.rbegin(), counts.rend(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.rend() ? 0 : most->first;
}

absl::Status IsOfGroup(const std::vector<std::string>& names) {
  return absl::InvalidArgumentError(absl::StrCat(
      "has datasets in more objects than there can be fields: if each object "
      "of a group is a sample, name \"",
      absl::StrJoin(names, "\", \""), "\""));
}

// Makes the error of a group whose objects ArrayLister does not list.
absl::Status IsTooDeep() {
  return absl::UnimplementedError(
      absl::StrCat("is a group below ", ArrayLister::kTooDeep,
                   " others on this path, and its datasets are not looked for: "
                   "if they have a shorter path, name them by that path, else "
                   "move the group to one"));
}

absl::Status TooMany() {
  return absl::InvalidArgumentError(
      absl::StrCat("has more than ", kMaxDatasetFields,
                   " datasets with rows, which is as many as can be fields: "
                   "name those that are wanted"));
}

}  // namespace

absl::StatusOr<Hdf5FormatChoice> Hdf5FormatChoice::Create(
    std::vector<std::string> names, std::vector<std::string> types,
    base::MemoryBudget* budget) {
  if (types.empty()) types.resize(names.size());
  if (names.size() != types.size() || names.size() > kMaxDatasetFields) {
    return absl::InvalidArgumentError(
        absl::StrCat("at most ", kMaxDatasetFields,
                     " datasets can be named, each with a type or none"));
  }
  Types parsed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = WithoutEmptyParts(names[i]);
    const auto pattern = SplitPattern(names[i]);
    if (!IsFieldName(pattern.has_value() && !pattern->rest.empty()
                         ? pattern->rest
                         : names[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", names[i], "\" is not a field's name: it must have 1 to ",
          proto::kMaxFieldName - 1, " bytes"));
    }
    if (std::find(names.begin(), names.begin() + static_cast<int>(i),
                  names[i]) != names.begin() + static_cast<int>(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", names[i], "\" is named twice"));
    }
    parsed.emplace_back();
    if (types[i].empty()) continue;
    auto type = records::ParseValueType(types[i]);
    if (!type.ok()) return base::Annotate(type.status(), names[i]);
    parsed.back() = *std::move(type);
  }
  if (!AreOfOneGroup(names)) {
    return absl::InvalidArgumentError(
        "all datasets must be those of one group's objects, or all none");
  }
  return Hdf5FormatChoice(std::move(names), std::move(parsed), budget);
}

std::string Hdf5FormatChoice::text() const {
  std::string text = "hdf5";
  for (std::size_t i = 0; i < names_.size(); ++i) {
    absl::StrAppend(&text, std::string(1, '\0'), names_[i],
                    std::string(1, '\0'),
                    types_[i].has_value() ? records::TextOf(*types_[i]) : "");
  }
  return text;
}

absl::StatusOr<std::vector<Hdf5FormatChoice::Wanted>>
Hdf5FormatChoice::FindNamed(FirstFile& file) const {
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    NamedArray found;
    FOREBAY_RETURN_IF_ERROR(file.Look([&](FileView& view) {
      FOREBAY_ASSIGN_OR_RETURN(found, FindFirstArray(view, names_[i]));
      return absl::OkStatus();
    }));
    Wanted one;
    one.has_type = types_[i].has_value();
    auto column = ColumnOf(found.array, found.path, found.member);
    if (!column.ok()) return base::Annotate(column.status(), names_[i]);
    one.column = *std::move(column);
    if (one.has_type) {
      FOREBAY_RETURN_IF_ERROR(
          base::Annotate(SetValueType(*types_[i], &one.column), names_[i]));
    }
    found.array.type.members = {};  // unused, and perhaps many
    one.array = std::make_shared<const ArrayLayout>(std::move(found.array));
    wanted.push_back(std::move(one));
  }
  return wanted;
}

absl::StatusOr<std::vector<Hdf5FormatChoice::Wanted>> Hdf5FormatChoice::FindAll(
    const ArrayLister& lister, std::vector<std::string>* left_out) {
  const std::vector<std::string> names = SamplePatterns(lister.datasets());
  if (!names.empty()) return IsOfGroup(names);
  const std::uint64_t rows = MostFrequentRows(lister.datasets());
  std::vector<Wanted> wanted;
  std::size_t more = 0;
  const auto leave_out = [&](const std::string& path, const std::string& member,
                             const absl::Status& why) {
    if (left_out->size() == kMostLeftOut) {
      ++more;
      return;
    }
    left_out->push_back(absl::StrCat(path, member.empty() ? "" : "/", member,
                                     ": ", why.message()));
  };
  const auto add = [&](const ListedArray& one, const std::string& member) {
    auto column = ColumnOf(**one.array, one.path, member);
    absl::Status status = column.status();
    if (status.ok() && !IsFieldName(column->name()))
      status = absl::InvalidArgumentError("has too long a name");
    if (status.ok() && (*one.array)->rows() != rows) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "has ", (*one.array)->rows(), " rows, and others have ", rows));
    }
    if (!status.ok()) return leave_out(one.path, member, status);
    wanted.push_back({.column = *std::move(column), .array = *one.array});
  };
  for (const ListedArray& one : lister.datasets()) {
    if (!one.array.ok()) {
      leave_out(one.path, {}, one.array.status());
    } else if ((*one.array)->type.kind == Kind::kCompound) {
      for (const CompoundMember& member : (*one.array)->type.members)
        add(one, member.name);
    } else {
      add(one, {});
    }
    if (wanted.size() > kMaxDatasetFields) return TooMany();
  }
  for (const auto& [address, path] : lister.deep_groups())
    leave_out(path, {}, IsTooDeep());
  if (wanted.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "has no dataset with rows that can be read",
        left_out->empty() ? "" : absl::StrCat(": ", left_out->front())));
  }
  if (more > 0) left_out->push_back(absl::StrCat(more, " objects more"));
  return wanted;
}

absl::StatusOr<std::vector<Hdf5FormatChoice::Wanted>>
Hdf5FormatChoice::FindWanted(FirstFile& file, base::WorkingMemory& memory,
                             std::vector<std::string>* left_out) const {
  if (!names_.empty()) return FindNamed(file);
  ArrayLister lister(&memory);
  FOREBAY_RETURN_IF_ERROR(
      file.Look([&](FileView& view) { return lister.Run(view); }));
  return FindAll(lister, left_out);
}

absl::Status Hdf5FormatChoice::GuessTypes(FirstFile& file,
                                          std::vector<Wanted>* wanted) {
  const auto is_image = [](const Wanted& one) {
    return one.column.value.kind == proto::FieldKind::kImage;
  };
  for (Wanted& one : *wanted) {
    Hdf5Column& column = one.column;
    one.weight = one.array->row_bytes();
    const bool is_guessed = !one.has_type && IsGuessed(column);
    if ((!is_guessed && !column.has_any_length()) || !column.member.empty())
      continue;
    const bool is_sequence = column.type.kind == Kind::kSequence;
    const bool is_text = column.type.kind == Kind::kVariableText ||
                         column.type.kind == Kind::kText;
    std::uint64_t longest = 0;
    std::string_view guess;
    const absl::Status read = file.ReadFirst(
        *one.array, is_sequence ? proto::SizeOf(column.type.dtype) : 1,
        [&](absl::Span<const Bytes> values) {
          for (const Bytes value : values)
            longest = std::max<std::uint64_t>(longest, value.size());
          if (is_guessed) guess = records::GuessType(values);
        });
    if (!read.ok()) {
      return file.read_failed() ? read : base::Annotate(read, column.name());
    }
    if (column.has_any_length())
      one.weight = longest + (is_text ? 0 : kSequenceWeight);
    if (!is_guessed) continue;
    // Only one field can be an image. Guesses of text or bytes change nothing.
    const bool can_be_image =
        std::none_of(wanted->begin(), wanted->end(), is_image);
    if ((guess == "image" && can_be_image) ||
        ((guess == "npy" || guess == "audio") && !is_text)) {
      FOREBAY_RETURN_IF_ERROR(
          SetValueType(*records::ParseValueType(guess), &column));
    }
  }
  return absl::OkStatus();
}

// Columns with long rows are read with the samples. The heaviest column for
// which IsBetterKept is false is read, too, unless its rows are small. The
// index stores all other columns.
void Hdf5FormatChoice::ChooseKept(std::vector<Wanted>* wanted) {
  std::vector<Wanted*> order;
  for (Wanted& one : *wanted) order.push_back(&one);
  std::stable_sort(
      order.begin(), order.end(),
      [](const Wanted* a, const Wanted* b) { return a->weight > b->weight; });
  const Wanted* heaviest = nullptr;
  for (const Wanted* const one : order) {
    if (one->weight <= kMostIndexedBytes && !one->column.is_variable() &&
        IsBetterKept(*one->array))
      continue;
    heaviest = one;
    break;
  }
  if (heaviest != nullptr && heaviest->weight <= kSmallRow) heaviest = nullptr;
  std::set<std::string> paths;  // datasets that are read
  if (heaviest != nullptr) paths.insert(heaviest->column.path);
  for (const Wanted* const one : order) {
    const bool is_variable = one->column.is_variable();
    if (one->weight > (is_variable ? kLongSequence : kMostIndexedBytes))
      paths.insert(one->column.path);
  }
  for (Wanted& one : *wanted)
    one.column.is_kept = paths.count(one.column.path) == 0;
}

absl::StatusOr<FormatPtr> Hdf5FormatChoice::FindFormat(
    const records::RecordRequest& request,
    const records::RecordRequest::Files& files, base::WorkingMemory& memory,
    const std::stop_token& stop, std::vector<std::string>* warnings) const {
  FOREBAY_RETURN_IF_ERROR(CheckWriterLocks(*request.root, files, stop));
  const storage::ListedObject& first = files.front();
  FirstFile file(*request.source, request.root, first, request.read_sizes,
                 &memory, stop);
  std::vector<std::string> left_out;
  auto found = FindWanted(file, memory, &left_out);
  absl::Status status = found.status();
  std::vector<Wanted> wanted;
  if (found.ok()) wanted = *std::move(found);
  if (status.ok()) status = GuessTypes(file, &wanted);
  if (file.read_failed() || absl::IsResourceExhausted(status)) return status;
  if (!status.ok()) return base::Annotate(status, first.name);
  ChooseKept(&wanted);
  for (const std::string& sentence : left_out) {
    warnings->push_back(absl::StrCat(request.root->uri(), ": ", first.name,
                                     " is read without ", sentence));
  }
  std::vector<Hdf5Column> columns;
  for (Wanted& one : wanted) columns.push_back(std::move(one.column));
  return std::make_shared<const Hdf5Format>(std::move(columns), budget_);
}

void Hdf5FormatChoice::Complete(records::RecordRequest* request,
                                std::vector<std::string>* warnings) const {
  absl::StrAppend(&request->name, std::string(2, '\0'), text());
  request->make_format =
      [budget = budget_](std::string_view text) -> absl::StatusOr<FormatPtr> {
    return Hdf5Format::Parse(text, budget);
  };
  request->find_format = [choice = *this, request, warnings](
                             const records::RecordRequest::Files& files,
                             base::WorkingMemory& memory,
                             const std::stop_token& stop) {
    return choice.FindFormat(*request, files, memory, stop, warnings);
  };
}

}  // namespace forebay::dataset::hdf5
