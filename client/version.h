#ifndef FOREBAY_CLIENT_VERSION_H_
#define FOREBAY_CLIENT_VERSION_H_

namespace forebay::client {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_VERSION_H_
