#ifndef FOREBAY_PROTO_VERSION_H_
#define FOREBAY_PROTO_VERSION_H_

namespace forebay::proto {

// The release number that all programs of one build have.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_VERSION_H_
