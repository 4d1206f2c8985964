#include "server/storage/wrong_domain.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace forebay::storage {
namespace {

// The URL of the status payload that marks the error; the payload itself is
// empty.
constexpr char kPayload[] = "forebay/wrong-domain";

}  // namespace

absl::Status WrongDomain(std::string_view object) {
  absl::Status status = absl::UnavailableError(absl::StrCat(
      std::string(object), ": moves between file systems while it is read"));
  status.SetPayload(kPayload, absl::Cord());
  return status;
}

bool IsWrongDomain(const absl::Status& status) {
  return status.GetPayload(kPayload).has_value();
}

}  // namespace forebay::storage
