#ifndef FOREBAY_SERVER_STORAGE_HTTP_LINK_LOCAL_H_
#define FOREBAY_SERVER_STORAGE_HTTP_LINK_LOCAL_H_

#include <string>

namespace forebay::storage::http {

// Returns whether `host` is an address, with or without brackets, that only
// this link reaches, or one at which clouds tell a VM its secrets; or a name of
// such a server. Thread-safe. Makes no look-up; never blocks.
bool IsLinkLocal(const std::string& host);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_LINK_LOCAL_H_
