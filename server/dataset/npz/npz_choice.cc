#include "server/dataset/npz/npz_choice.h"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/array/npy_array.h"
#include "server/base/status.h"
#include "server/dataset/npz/npz_archive.h"
#include "server/dataset/npz/npz_format.h"
#include "server/dataset/npz/npz_reader.h"

namespace forebay::dataset::npz {
namespace {

using FormatPtr = records::RecordRequest::FormatPtr;

// Finds the arrays of the first file that can be fields.
absl::StatusOr<std::vector<std::string>> FindNames(
    const records::RecordRequest& request, const storage::ListedObject& file,
    base::WorkingMemory& memory, const std::stop_token& stop,
    std::vector<std::string>* warnings) {
  const NpzReader reader(request.source, request.root, stop);
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<zip::ZipMember> members,
                           reader.ReadMembers(file, memory));
  std::vector<std::string> names;
  for (std::string& name : ArrayNamesOf(members)) {
    FOREBAY_ASSIGN_OR_RETURN(
        const ArrayFile found,
        reader.ReadArray(file, *FindArray(members, name), memory));
    absl::Status status = array::ReadNpyArray(found.bytes).status();
    if (status.ok()) status = CheckNames({name});
    if (status.ok()) {
      names.push_back(std::move(name));
    } else if (absl::IsDataLoss(status)) {
      return base::Annotate(status, absl::StrCat(file.name, ": ", name));
    } else {
      warnings->push_back(absl::StrCat(request.root->uri(),
                                       ": is read without ", "the array ", name,
                                       ": it ", status.message()));
    }
  }
  const absl::Status checked = CheckNames(names);
  if (!checked.ok()) return base::Annotate(checked, file.name);
  return names;
}

}  // namespace

absl::StatusOr<NpzChoice> NpzChoice::Create(
    std::vector<std::string> fields, const std::vector<std::string>& columns) {
  const bool rows = !columns.empty() && columns.front() == "rows";
  const std::string wanted = rows ? "rows" : "files";
  if (columns.empty() || columns.size() != fields.size() ||
      std::count(columns.begin(), columns.end(), wanted) !=
          static_cast<std::ptrdiff_t>(columns.size())) {
    return absl::InvalidArgumentError(
        "arrays of .npz files are read as \"rows\" or as \"files\"");
  }
  if (fields.size() == 1 && fields.front().empty()) return NpzChoice(rows, {});
  FOREBAY_RETURN_IF_ERROR(CheckNames(fields));
  return NpzChoice(rows, std::move(fields));
}

void NpzChoice::Complete(records::RecordRequest* request,
                         std::vector<std::string>* warnings) const {
  absl::StrAppend(&request->name, std::string(2, '\0'), "npz",
                  std::string(1, '\0'),
                  absl::StrJoin(names_, std::string(1, '\0')));
  request->make_format =
      [](std::string_view text) -> absl::StatusOr<FormatPtr> {
    return NpzFormat::Parse(text);
  };
  request->find_format =
      [names = names_, request, warnings](
          const records::RecordRequest::Files& files,
          base::WorkingMemory& memory,
          const std::stop_token& stop) -> absl::StatusOr<FormatPtr> {
    if (!names.empty()) return NpzFormat::Create(names);
    FOREBAY_ASSIGN_OR_RETURN(
        std::vector<std::string> found,
        FindNames(*request, files.front(), memory, stop, warnings));
    return NpzFormat::Create(std::move(found));
  };
}

}  // namespace forebay::dataset::npz
