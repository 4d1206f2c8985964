#include "server/dataset/npz/npz_rows.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/dataset.pb.h"
#include "server/array/npy_array.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/memory/array_dataset.h"
#include "server/dataset/npy/npy_index.h"
#include "server/dataset/npy/npy_rows.h"
#include "server/dataset/npz/npz_archive.h"
#include "server/dataset/npz/npz_format.h"
#include "server/dataset/npz/npz_layout.h"
#include "server/dataset/npz/npz_reader.h"
#include "server/dataset/npz/row_memory.h"
#include "server/dataset/npz/stored_rows.h"

namespace forebay::dataset::npz {
namespace {

using npy::NpyRows;
using storage::ListedObject;

// An array of the file that is read now: its bytes, and the rows in them. If
// the array stays in the file, `file` has only the array's first bytes.
struct LoadedArray {
  std::string name;
  ArrayFile file = {};
  NpyRows rows = {};
};

std::string Describe(const ArrayType& type) {
  return array::DescribeArray(type.dtype, type.shape);
}

// Loads files one after the other. The first file decides which arrays are the
// fields, which types they have, and which array stays in the files. All later
// files must agree with the first one.
//
// Rows of the arrays in memory are interleaved by RowMemory as they are read.
// For the array that stays in the files, only the number and the place of the
// rows are recorded.
class Loader {
 public:
  Loader(const NpzRowsSource& source, std::vector<std::string>* warnings)
      : source_(source),
        reader_(source.source, source.root, source.stop),
        rows_(source.budget),
        index_memory_(source.budget, "the index of .npz files"),
        names_(source.names),
        warnings_(warnings) {}

  // Reads the arrays of one file. Calls come in the order of the files.
  absl::Status Load(const ListedObject& file) { return Named(LoadFile(file)); }

  // Makes the dataset, once all files are loaded.
  absl::StatusOr<std::shared_ptr<const Dataset>> Finish(
      absl::Span<const ListedObject> files) {
    auto rows = rows_.Seal();
    if (!rows.ok()) return Named(rows.status());
    std::shared_ptr<const base::SealedMemory> sealed = *std::move(rows);
    const auto found = std::find(names_.begin(), names_.end(), stored_);
    if (found == names_.end()) return InMemory(std::move(sealed));
    const auto stored = static_cast<std::size_t>(found - names_.begin());
    std::vector<Field> fields;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      fields.push_back({.name = names_[i],
                        .kind = proto::FieldKind::kArray,
                        .longest = BytesOf(types_[i]),
                        .array = types_[i]});
    }
    auto index =
        npy::NpyIndex::Create(files, types_[stored], BytesOf(types_[stored]),
                              stored_rows_, index_memory_);
    if (!index.ok()) return Named(index.status());
    auto layout =
        NpzLayout::Create(*index, directories_, index_memory_, source_.budget);
    if (!layout.ok()) return Named(layout.status());
    return std::make_shared<const StoredRows>(
        *std::move(index), *std::move(layout), source_.root, std::move(fields),
        stored, std::move(sealed));
  }

 private:
  // Reads one file and appends its rows. The memory of its arrays is freed at
  // the end.
  absl::Status LoadFile(const ListedObject& file) {
    base::WorkingMemory memory(source_.budget, "the arrays of a .npz file");
    FOREBAY_ASSIGN_OR_RETURN(const NpzDirectory directory,
                             reader_.ReadDirectory(file, memory));
    const std::vector<zip::ZipMember>& members = directory.members;
    if (types_.empty()) ChooseStored(members);
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<LoadedArray> arrays,
                             ReadArrays(file, members, memory));
    absl::Status status = CheckArrays(arrays);
    if (!status.ok()) return base::Annotate(status, file.name);
    const std::uint64_t count = arrays.front().rows.count;
    std::vector<RowColumn> columns;
    for (const LoadedArray& one : arrays) {
      if (one.name == stored_) {
        FOREBAY_RETURN_IF_ERROR(index_memory_.MakeRoom(stored_rows_, 1));
        stored_rows_.push_back({count, one.file.offset + one.rows.data_offset});
        FOREBAY_RETURN_IF_ERROR(index_memory_.MakeRoom(directories_, 1));
        directories_.push_back(directory.digest);
      } else {
        columns.push_back(
            {one.file.bytes.data() + one.rows.data_offset, one.rows.row_bytes});
      }
    }
    samples_ += count;
    if (columns.empty()) return absl::OkStatus();
    return rows_.Append(columns, count);
  }

  // Puts the root's URI before the error's message.
  absl::Status Named(const absl::Status& status) const {
    return base::Annotate(status, source_.root->uri());
  }

  // Chooses the array that stays in the files: the largest one, if it is stored
  // and long enough.
  void ChooseStored(absl::Span<const zip::ZipMember> members) {
    const zip::ZipMember* largest = nullptr;
    for (const std::string& name :
         names_.empty() ? ArrayNamesOf(members) : names_) {
      const zip::ZipMember* const member = FindArray(members, name);
      if (member != nullptr &&
          (largest == nullptr || member->length > largest->length))
        largest = member;
    }
    if (largest != nullptr && largest->method == zip::ZipMethod::kStored &&
        largest->length >= source_.least_stored)
      stored_ = *ArrayNameOf(*largest);
  }

  // Makes the dataset if all rows are in memory. The errors already name the
  // root.
  absl::StatusOr<std::shared_ptr<const Dataset>> InMemory(
      std::shared_ptr<const base::SealedMemory> sealed) {
    proto::DatasetSpec spec;
    spec.set_uri(source_.root->uri());
    proto::Arrays& arrays = *spec.mutable_arrays();
    arrays.set_samples(samples_);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      proto::ArrayField& field = *arrays.add_fields();
      field.set_name(names_[i]);
      field.set_kind(proto::ArrayField::ARRAY);
      field.set_dtype(static_cast<proto::DataType>(types_[i].dtype));
      field.mutable_shape()->Add(types_[i].shape.begin(),
                                 types_[i].shape.end());
    }
    return memory::ArrayDataset::Create(spec, std::move(sealed));
  }

  // Reads the arrays of one file. If the user named no arrays, leaves out the
  // arrays of the first file that have no rows, with a warning.
  absl::StatusOr<std::vector<LoadedArray>> ReadArrays(
      const ListedObject& file, absl::Span<const zip::ZipMember> members,
      base::WorkingMemory& memory) {
    const bool is_choice = names_.empty();
    std::vector<LoadedArray> arrays;
    for (std::string& name : is_choice ? ArrayNamesOf(members) : names_) {
      const zip::ZipMember* const member = FindArray(members, name);
      if (member == nullptr)
        return base::Annotate(NoSuchArray(name, members), file.name);
      LoadedArray one{.name = name};
      const bool stays = name == stored_;
      if (stays && member->method != zip::ZipMethod::kStored) {
        return absl::InvalidArgumentError(absl::StrCat(
            file.name, ": ", name, ": is deflated, but that of the first file ",
            "is stored and too large to be held in memory"));
      }
      FOREBAY_ASSIGN_OR_RETURN(
          one.file, stays ? reader_.ReadStart(file, *member, memory)
                          : reader_.ReadArray(file, *member, memory));
      auto rows = npy::ReadNpyRows(one.file.bytes, member->length);
      if (rows.ok()) {
        one.rows = *std::move(rows);
        arrays.push_back(std::move(one));
      } else if (is_choice && absl::IsUnimplemented(rows.status())) {
        warnings_->push_back(absl::StrCat(source_.root->uri(),
                                          ": is read without the array ", name,
                                          ": it ", rows.status().message()));
      } else {
        return base::Annotate(rows.status(),
                              absl::StrCat(file.name, ": ", name));
      }
    }
    return arrays;
  }

  // Checks that the arrays have equally many rows, and that rows have the types
  // of the first file. The first file's arrays become the fields.
  absl::Status CheckArrays(absl::Span<const LoadedArray> arrays) {
    for (const LoadedArray& one : arrays) {
      if (one.rows.count != arrays.front().rows.count)
        return DifferInRows(arrays);
    }
    if (types_.empty()) {
      names_.clear();
      for (const LoadedArray& one : arrays) {
        names_.push_back(one.name);
        types_.push_back(one.rows.type);
      }
      return CheckNames(names_);
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].rows.type == types_[i]) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          names_[i], ": has rows of ", Describe(arrays[i].rows.type),
          ", but those of the first file are ", Describe(types_[i])));
    }
    return absl::OkStatus();
  }

  // Makes the error of arrays with different numbers of rows. The error says
  // what to do.
  static absl::Status DifferInRows(absl::Span<const LoadedArray> arrays) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its arrays have different numbers of rows: ",
        absl::StrJoin(arrays, ", ",
                      [](std::string* out, const LoadedArray& one) {
                        absl::StrAppend(out, one.name, " has ", one.rows.count);
                      }),
        ": name those that belong together by fields=, or, if each file is a "
        "sample, say so by rows=False"));
  }

  const NpzRowsSource& source_;
  const NpzReader reader_;
  RowMemory rows_;
  base::WorkingMemory index_memory_;
  std::vector<std::string> names_;
  // Type of the rows of each array, in the order of `names_`.
  std::vector<ArrayType> types_;
  std::vector<std::string>* const warnings_;
  std::uint64_t samples_ = 0;
  // Name of the array that stays in the files; empty if none does.
  std::optional<std::string> stored_;
  // For each file, the rows of the array that stays in the file.
  std::vector<npy::FileRows> stored_rows_;
  // Digest of each file's central directory.
  std::vector<Version> directories_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> LoadNpzRows(
    const NpzRowsSource& source, absl::Span<const ListedObject> files,
    std::vector<std::string>* warnings) {
  Loader loader(source, warnings);
  for (const ListedObject& file : files)
    FOREBAY_RETURN_IF_ERROR(loader.Load(file));
  return loader.Finish(files);
}

}  // namespace forebay::dataset::npz
