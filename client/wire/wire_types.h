#ifndef FOREBAY_CLIENT_WIRE_WIRE_TYPES_H_
#define FOREBAY_CLIENT_WIRE_WIRE_TYPES_H_

#include <protozero/pbf_reader.hpp>

namespace forebay::client::wire {

// protozero checks wire types only by assertions, so each field's type is
// checked before its value is read. Fields of another type are skipped, as if
// they were unknown.

// Whether the current field of a message has number `tag` and is a varint: the
// wire type of integers, enums and booleans.
inline bool IsVarint(const protozero::pbf_reader& reader,
                     protozero::pbf_tag_type tag) {
  return reader.tag() == tag &&
         reader.wire_type() == protozero::pbf_wire_type::varint;
}

// Whether the current field of a message has number `tag` and is
// length-delimited: the wire type of strings, bytes and messages.
inline bool IsBytes(const protozero::pbf_reader& reader,
                    protozero::pbf_tag_type tag) {
  return reader.tag() == tag &&
         reader.wire_type() == protozero::pbf_wire_type::length_delimited;
}

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_WIRE_TYPES_H_
