#include "server/sample/annotate_error.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::sample {

absl::Status AnnotateSampleError(const dataset::Dataset& dataset,
                                 std::uint64_t id, const absl::Status& status) {
  const std::string name = dataset.NameOf(id);
  return base::Annotate(
      status, absl::StrCat("sample ", id,
                           name.empty() ? "" : absl::StrCat(" (", name, ")"),
                           " of ", dataset.uri()));
}

absl::Status AnnotateFieldError(const dataset::Dataset& dataset,
                                std::uint64_t id, std::size_t field,
                                const absl::Status& status) {
  const dataset::Field& failed = dataset.fields()[field];
  std::string what = dataset.At(id).object;
  // If the whole object is the image or the clip, the error need not name the
  // field.
  const bool whole = (failed.kind == proto::FieldKind::kImage ||
                      failed.kind == proto::FieldKind::kAudio) &&
                     dataset.NameOf(id).empty();
  if (!whole) absl::StrAppend(&what, ": ", failed.name);
  return AnnotateSampleError(dataset, id, base::Annotate(status, what));
}

}  // namespace forebay::sample
