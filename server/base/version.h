#ifndef FOREBAY_SERVER_BASE_VERSION_H_
#define FOREBAY_SERVER_BASE_VERSION_H_

namespace forebay::base {

// Of the whole release: daemon, client library and tools.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_VERSION_H_
