#ifndef FOREBAY_CLIENT_WIRE_CLASS_LIST_CODEC_H_
#define FOREBAY_CLIENT_WIRE_CLASS_LIST_CODEC_H_

// Reads the names of a dataset's classes, in the order of their labels. The
// daemon sends them in a message, or in a memfd if they are too many for it.

#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "client/base/status.h"

namespace forebay::client::wire {

// Reads a proto.ClassList. Throws a protozero::exception if it is malformed;
// the caller catches it where the whole message is read.
std::vector<std::string> ReadClassList(protozero::pbf_reader reader);

// Reads a serialized proto.ClassList. FOREBAY_INTERNAL if it is not one.
Status DecodeClassList(std::string_view bytes,
                       std::vector<std::string>* classes);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_CLASS_LIST_CODEC_H_
