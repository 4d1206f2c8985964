#include "server/dataset/npz/npz_choice.h"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/dataset_texts.h"
#include "server/array/npy_array.h"
#include "server/base/status.h"
#include "server/dataset/npz/npz_archive.h"
#include "server/dataset/npz/npz_format.h"
#include "server/dataset/npz/npz_reader.h"
#include "server/dataset/path_order.h"

namespace forebay::dataset::npz {
namespace {

using FormatPtr = records::RecordRequest::FormatPtr;

// Returns the names of the arrays of the first file that can be fields. Reads
// every array, so that damage is found before the scan. An array is left out
// with a warning if it cannot be read, or if its name cannot name a field.
absl::StatusOr<std::vector<std::string>> FindNames(
    const records::RecordRequest& request, const storage::ListedObject& file,
    bool has_labels, base::WorkingMemory& memory, const std::stop_token& stop,
    std::vector<std::string>* warnings) {
  const NpzReader reader(request.source, request.root, stop);
  FOREBAY_ASSIGN_OR_RETURN(const NpzDirectory directory,
                           reader.ReadDirectory(file, memory));
  const std::vector<zip::ZipMember>& members = directory.members;
  std::vector<std::string> names;
  for (std::string& name : ArrayNamesOf(members)) {
    FOREBAY_ASSIGN_OR_RETURN(
        const ArrayFile found,
        reader.ReadArray(file, *FindArray(members, name), memory));
    const absl::Status read = array::ReadNpyArray(found.bytes).status();
    if (absl::IsDataLoss(read))
      return base::Annotate(read, absl::StrCat(file.name, ": ", name));
    const absl::Status named = CheckNames({name}, has_labels);
    if (read.ok() && named.ok()) {
      names.push_back(std::move(name));
      continue;
    }
    warnings->push_back(absl::StrCat(
        request.root->uri(), ": is read without the array ", name, ": ",
        read.ok() ? named.message() : absl::StrCat("it ", read.message())));
  }
  const absl::Status checked = CheckNames(names, has_labels);
  if (!checked.ok()) return base::Annotate(checked, file.name);
  return names;
}

// Wraps a listing so that files come class by class, as torchvision's
// DatasetFolder has them. Plain path order differs, because a folder name may
// have a character that sorts before the slash: "a-b/" comes before "a/".
auto ClassByClass(decltype(records::RecordRequest::list) list) {
  return [list = std::move(list)](base::WorkingMemory& memory,
                                  const std::stop_token& stop) {
    auto files = list(memory, stop);
    if (!files.ok()) return files;
    std::sort(files->begin(), files->end(), [](const auto& a, const auto& b) {
      const std::string_view one = a.name;
      const std::string_view other = b.name;
      const auto folder = one.substr(0, one.find('/'));
      const auto next = other.substr(0, other.find('/'));
      return folder == next ? PathLess(one, other) : PathLess(folder, next);
    });
    return files;
  };
}

}  // namespace

absl::StatusOr<NpzChoice> NpzChoice::Create(const proto::Npz& spec) {
  const bool rows = spec.samples() == proto::Npz::ROWS;
  const bool has_labels = spec.samples() == proto::Npz::CLASSES;
  if (!rows && !has_labels && spec.samples() != proto::Npz::FILES)
    return absl::InvalidArgumentError(proto::kNotNpzColumns);
  std::vector<std::string> names(spec.arrays().begin(), spec.arrays().end());
  if (!names.empty()) FOREBAY_RETURN_IF_ERROR(CheckNames(names, has_labels));
  return NpzChoice(rows, has_labels, std::move(names));
}

void NpzChoice::Complete(records::RecordRequest* request,
                         std::vector<std::string>* warnings) const {
  // The request's name tells indexes apart, also on disk. The choice is added
  // to that name, because each choice has its own index.
  absl::StrAppend(&request->name, std::string(2, '\0'),
                  has_labels_ ? "npz classes" : "npz", std::string(1, '\0'),
                  absl::StrJoin(names_, std::string(1, '\0')));
  if (has_labels_) request->list = ClassByClass(std::move(request->list));
  request->make_format =
      [](std::string_view text) -> absl::StatusOr<FormatPtr> {
    return NpzFormat::Parse(text);
  };
  request->find_format =
      [names = names_, has_labels = has_labels_, request, warnings](
          const records::RecordRequest::Files& files,
          base::WorkingMemory& memory,
          const std::stop_token& stop) -> absl::StatusOr<FormatPtr> {
    if (!names.empty()) return NpzFormat::Create(names, has_labels);
    FOREBAY_ASSIGN_OR_RETURN(
        std::vector<std::string> found,
        FindNames(*request, files.front(), has_labels, memory, stop, warnings));
    return NpzFormat::Create(std::move(found), has_labels);
  };
}

}  // namespace forebay::dataset::npz
