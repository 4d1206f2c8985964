#ifndef FOREBAY_SERVER_STORAGE_WRONG_DOMAIN_H_
#define FOREBAY_SERVER_STORAGE_WRONG_DOMAIN_H_

#include <string_view>

#include "absl/status/status.h"

namespace forebay::storage {

// Returns the error by which a source behind a DomainSource says that the
// object belongs to another failure domain. To other readers the error is an
// ordinary UNAVAILABLE.
absl::Status WrongDomain(std::string_view object);
// Whether `status` came from WrongDomain.
bool IsWrongDomain(const absl::Status& status);

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_WRONG_DOMAIN_H_
