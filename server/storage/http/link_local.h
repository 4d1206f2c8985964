#ifndef FOREBAY_SERVER_STORAGE_HTTP_LINK_LOCAL_H_
#define FOREBAY_SERVER_STORAGE_HTTP_LINK_LOCAL_H_

#include <string>

namespace forebay::storage::http {

// Whether `host` can be reached only on this host's network link, or is a
// metadata server, which tells a cloud's VM its secrets. `host` is an address,
// with or without brackets, or a name. Names are compared and not looked up.
// Thread-safe; never blocks.
bool IsLinkLocal(const std::string& host);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_LINK_LOCAL_H_
