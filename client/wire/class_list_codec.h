#ifndef FOREBAY_CLIENT_WIRE_CLASS_LIST_CODEC_H_
#define FOREBAY_CLIENT_WIRE_CLASS_LIST_CODEC_H_

// Reads the names of a dataset's classes, which come in a message or beside it.

#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "client/base/status.h"

namespace forebay::client::wire {

// Reads a proto.ClassList. Throws what protozero does if it is malformed.
std::vector<std::string> ReadClassList(protozero::pbf_reader reader);

// Reads a serialized proto.ClassList. FOREBAY_INTERNAL if it is not one.
Status DecodeClassList(std::string_view bytes,
                       std::vector<std::string>* classes);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_CLASS_LIST_CODEC_H_
